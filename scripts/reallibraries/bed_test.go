//go:build linux && cgo

package reallibraries

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"vramscope/internal/needs"
)

// course is what a process allocates: pairs of a second and the GiB from then on, or ended.
type course [][2]int

// ended, in place of a size, means that the process has ended and caches nothing.
const ended = -1

// roles are the processes of the bed. train is the important one.
var roles = []string{"train", "train2", "notebook", "batch"}

// story is what happens on a GPU of 79.6 GiB, by role. Contexts take 2 GiB of the GPU.
type story struct {
	name    string
	courses map[string]course
}

const (
	storyTime = 45 * time.Second
	pressure  = 30 // the second when memory becomes short; a rule flushes no process in its first 20 s under the guard
)

// idles allocates size GiB for two seconds, and then only caches them.
func idles(size int) course { return course{{0, size}, {2, 0}} }

// peaks allocates base GiB. At second from, and then once in every so many seconds, it allocates peak
// GiB for a second.
func peaks(base, peak, every, from int) (c course) {
	c = course{{0, base}}
	for at := from; at < int(storyTime/time.Second); at += every {
		c = append(c, [2]int{at, peak}, [2]int{at + 1, base})
	}
	return c
}

// grows allocates base GiB. From second from on it takes perSecond GiB more each second, up to end.
func grows(base, end, perSecond, from int) (c course) {
	c = course{{0, base}}
	for at := from; base < end; at++ {
		base += perSecond
		c = append(c, [2]int{at, base})
	}
	return c
}

func leaks(perSecond int) (c course) {
	for at := range int(storyTime / time.Second) {
		c = append(c, [2]int{at, at * perSecond})
	}
	return c
}

var stories = []story{
	{"idle notebooks beside a training", map[string]course{"notebook": idles(22), "batch": idles(18), "train": grows(10, 50, 2, 22)}},
	{"a job that starts large beside idle cache", map[string]course{"notebook": idles(30), "batch": idles(15), "train": {{0, 0}, {pressure, 55}}}},
	{"a training that comes again beside idle cache", map[string]course{"train": {{0, 45}, {6, ended}, {pressure + 8, 45}}, "notebook": {{10, 44}, {12, 0}}}},
	{"batch tests that come and go", map[string]course{"train": {{0, 35}, {pressure, 60}}, "batch": peaks(0, 24, 4, 1), "notebook": idles(5)}},
	// After a failed rescue a program asks for no rescue for a minute. So the stories that a rescue
	// can win come first.
	{"two trainings whose peaks meet", map[string]course{"train": peaks(15, 50, 6, pressure), "train2": peaks(15, 45, 5, 3)}},
	{"a leak of live tensors (unwinnable)", map[string]course{"train": {{0, 30}}, "train2": leaks(2)}},
	{"all memory allocated (unwinnable)", map[string]course{"train": {{0, 40}}, "train2": {{0, 35}}, "batch": {{pressure, 10}}}},
}

const (
	thresholdRule = `
[[guard.rule]]
name = "room"
when = { free_below = "10%", for = "2s" }
goal = { free = "15%" }
`
	demandRule = `
[[guard.rule]]
name = "demand"
when = { demand = true }
goal = { free = "6%" }
`
	importances = `
[[guard.importance]]
match = { command = "*train.py*" }
value = 100
[[guard.importance]]
match = { command = "*notebook.py*" }
value = -100
[[guard.importance]]
match = { command = "*batch.py*" }
value = -200
`
)

var policies = []struct{ name, guard, how string }{
	{"none", "", byRun},
	{"threshold", "[guard]\nmode = 'act'\n" + thresholdRule, byRun},
	{"demand", "[guard]\nmode = 'act'\n" + demandRule + importances, byRun},
	{"rescue", "[guard]\nmode = 'act'\n" + demandRule + importances, withRescue},
}

// played is the result of a story under a policy.
type played struct {
	train, others  int     // errors
	utilization    float64 // the mean share of the memory that is allocated
	flushes        int
	freed, back    float64 // GiB
	rescued, stood int     // rescues that succeeded; ms of the longest allocation
}

// TestBed writes the table of docs/guard.md: scripts/real-libraries --bed.
func TestBed(t *testing.T) {
	path := os.Getenv("VRAMSCOPE_REAL_BED")
	if path == "" {
		t.Skip("scripts/real-libraries --bed runs this: it takes six minutes")
	}
	vramscope := needs.Vramscope(t)
	site := releases(t, "torch")[0]
	results := make([][]played, len(policies))
	// Each policy has a GPU of its own. All policies play at the same time.
	t.Run("policies", func(t *testing.T) {
		for i, policy := range policies {
			t.Run(policy.name, func(t *testing.T) {
				t.Parallel()
				results[i] = playAll(t, vramscope, site, policy.guard, policy.how)
			})
		}
	})
	if !t.Failed() {
		writeBed(t, path, filepath.Base(site), results)
	}
}

func playAll(t *testing.T, vramscope, site, policy, how string) (results []played) {
	s := &shared{T: t, vramscope: vramscope, site: site, world: box(t, job{vramscope: vramscope, site: site}), script: "bed_job.py"}
	s.world.questions = new(int)
	programs := map[string]*program{}
	for _, role := range roles {
		programs[role] = s.start(role, how)
	}
	time.Sleep(time.Minute) // a guard takes a younger program for one that is loading
	for _, story := range stories {
		if policy != "" {
			s.guard(policy)
		}
		results = append(results, s.play(programs, story))
		if policy != "" {
			_ = s.daemon.Process.Kill() // the guard of the next story must know nothing of this one
			_ = s.daemon.Wait()
		}
	}
	return results
}

func (s *shared) play(programs map[string]*program, story story) (r played) {
	s.Helper()
	var running sync.WaitGroup
	var mu sync.Mutex
	begin := float64(time.Now().Add(time.Second).UnixNano()) / 1e9
	for role, p := range programs {
		running.Go(func() {
			var of struct {
				Errors    int
				Allocated float64
				Longest   float64 `json:"longest_ms"`
			}
			course := story.courses[role]
			if course == nil {
				course = [][2]int{}
			}
			err := p.step("play", map[string]any{"begin": begin, "seconds": storyTime.Seconds(), "course": course}, &of)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				s.Error(err)
			}
			if role == "train" {
				r.train = of.Errors
			} else {
				r.others += of.Errors
			}
			r.utilization += of.Allocated * float64(gib) / float64(p.capacity[0])
			r.stood = max(r.stood, int(of.Longest))
		})
	}
	running.Wait()
	if s.daemonSaid == "" {
		return r
	}
	log := s.log()
	r.flushes, r.freed = sumOf(log, `guard: flushed PID \d+ .*?, (\S+) freed`)
	_, r.back = sumOf(log, `(\S+) of \S+ came back`)
	r.rescued = strings.Count(log, "INFO rescued: ")
	s.Logf("%s: %+v\n%s", story.name, r, log)
	return r
}

// sumOf returns how often a pattern occurs in a log, and the sum of the sizes that it matches, in GiB.
func sumOf(log, pattern string) (count int, sum float64) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(log, -1) {
		unit := map[byte]float64{'G': 1, 'M': 1. / 1024}[m[1][len(m[1])-1]]
		value, _ := strconv.ParseFloat(m[1][:len(m[1])-1], 64) // "0" has no unit
		count, sum = count+1, sum+value*unit
	}
	return count, sum
}

const bedMark = "<!-- real bed -->"

func writeBed(t *testing.T, path, release string, results [][]played) {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n%s, %s, a story of %d s each.\n\n", bedMark, strings.Replace(release, "torch-", "PyTorch ", 1), time.Now().Format(time.DateOnly), int(storyTime/time.Second))
	b.WriteString("| story | policy | out of memory: the training | others | utilization | flushes | freed | back within a minute | rescued | longest allocation |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for i, story := range stories {
		for j, policy := range policies {
			r := results[j][i]
			name := story.name
			if j > 0 {
				name = ""
			}
			fmt.Fprintf(&b, "| %s | %s | %d | %d | %.0f %% | %d | %.0f GiB | %.0f GiB | %d | %d ms |\n", name, policy.name, r.train, r.others,
				100*r.utilization, r.flushes, r.freed, r.back, r.rescued, r.stood)
		}
	}
	b.WriteString(bedMark)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), bedMark)
	_, after, again := strings.Cut(rest, bedMark)
	if !found || !again {
		t.Fatalf("%s has no two lines %q:\n%s", path, bedMark, b.String())
	}
	if err := os.WriteFile(path, []byte(before+b.String()+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
