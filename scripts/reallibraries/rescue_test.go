//go:build linux && cgo

package reallibraries

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vramscope/internal/needs"
)

const gib = int64(1) << 30

// shared is a GPU on which programs with real libraries run out of memory, and the
// daemon that guards the GPU.
type shared struct {
	*testing.T
	world      *program // has the environment of the box
	vramscope  string
	site       string
	script     string // of its programs
	daemon     *exec.Cmd
	daemonSaid string // file
}

// guarded starts a GPU with a daemon whose guard has this policy.
func guarded(t *testing.T, vramscope, site, policy string, more ...string) *shared {
	t.Helper()
	s := &shared{T: t, vramscope: vramscope, site: site, script: "room_job.py"}
	s.world = box(t, job{vramscope: vramscope, site: site}, more...)
	s.world.questions = new(int)
	s.guard(policy)
	return s
}

// guard starts the daemon.
func (s *shared) guard(policy string) {
	s.Helper()
	directory := filepath.Join(s.world.own, "vramscope")
	if err := os.MkdirAll(directory, 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(directory, "config.toml"), []byte(policy), 0o600); err != nil {
		s.Fatal(err)
	}
	command := []string{s.vramscope, "daemon", "--interval", "200ms"}
	if os.Geteuid() == 0 {
		// Root's daemon uses /run/vramscope, which another daemon may be using. So a directory of this
		// daemon's own is mounted there.
		command = append([]string{"unshare", "--mount", "sh", "-c",
			`mkdir -p /run/vramscope && mount --bind "$0" /run/vramscope && exec "$@"`, directory}, command...)
	}
	s.daemonSaid = filepath.Join(s.TempDir(), "daemon")
	said, err := os.Create(s.daemonSaid)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = said.Close() }() // the daemon has a descriptor of its own
	s.daemon = exec.Command(command[0], command[1:]...)
	s.daemon.Env, s.daemon.Stderr = s.world.environment, said
	if err := s.daemon.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = s.daemon.Process.Kill() // it may have ended
		_ = s.daemon.Wait()
		if s.Failed() {
			s.Logf("the daemon:\n%s", s.log())
		}
	})
	eventually(func() bool { return strings.Contains(s.log(), "sampling") })
	if !strings.Contains(s.log(), "sampling") {
		s.Fatalf("no daemon:\n%s", s.log())
	}
}

func (s *shared) log() string {
	said, _ := os.ReadFile(s.daemonSaid) // at first there is no file
	return string(said)
}

// start starts a program on the GPU; the policy sets its importance by its name.
func (s *shared) start(name, how string, settings ...string) *program {
	s.Helper()
	return s.startOf(s.site, "torch", name, how, settings...)
}

// startOf starts a program with another library.
func (s *shared) startOf(site, library, name, how string, settings ...string) *program {
	s.Helper()
	script := filepath.Join(s.TempDir(), name+".py")
	own, err := filepath.Abs(s.script)
	if err != nil {
		s.Fatal(err)
	}
	if err := os.Symlink(own, script); err != nil {
		s.Fatal(err)
	}
	p := s.world.beside(job{vramscope: s.vramscope, site: site, how: how, command: []string{"python3", script, library}, settings: settings})
	p.must("pid", nil, &p.pid)
	return p
}

// attempt is the outcome of one allocation.
type attempt struct {
	Error string
	MS    float64
}

func (p *program) attempt(size int64) attempt {
	p.t.Helper()
	var a attempt
	p.must("attempt", map[string]any{"size": size}, &a)
	return a
}

// caches makes a program cache this many bytes.
func (p *program) caches(size int64) {
	p.t.Helper()
	if a := p.attempt(size); a.Error != "" {
		p.t.Fatal(a.Error)
	}
	var reserved int64
	p.must("drop", nil, &reserved)
	if reserved < size {
		p.t.Fatalf("it caches %d of %d", reserved, size)
	}
}

// actsAndTrusts is a policy in which train.py is the most important.
const actsAndTrusts = `
[guard]
mode = "act"
[[guard.rule]]
name = "all"
when = { free_below = "1MiB", for = "10m" }
goal = { free = "2MiB" }
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

// notices waits until the daemon has logged words.
func (s *shared) notices(words string) {
	s.Helper()
	eventually(func() bool { return strings.Contains(s.log(), words) })
	if !strings.Contains(s.log(), words) {
		s.Errorf("the daemon does not say %q", words)
	}
}

// refused checks that an allocation fails, and does not take longer than most.
func (s *shared) refused(what string, a attempt, most time.Duration) {
	s.Helper()
	s.Logf("%s: stood for %.0f ms", what, a.MS)
	if took := time.Duration(a.MS) * time.Millisecond; !strings.Contains(a.Error, "CUDA out of memory") || took > most {
		s.Errorf("%s: after %s: %q", what, took, a.Error)
	}
}

const (
	// atOnce is enough for an allocation on a busy machine, and less than a rescue waits.
	atOnce = 1500 * time.Millisecond
	// inTime is how long a rescue waits, plus PyTorch's own part on a busy machine.
	inTime = 3500 * time.Millisecond
)

// TestRescue rescues allocations of real processes on one GPU, where others are idle with a cache.
func TestRescue(t *testing.T) {
	beyondCore(t)
	sites, vramscope := releases(t, "torch"), needs.Vramscope(t)
	for _, site := range sites {
		t.Run(filepath.Base(site), func(t *testing.T) { rescues(guarded(t, vramscope, site, actsAndTrusts)) })
	}
}

func rescues(s *shared) {
	idle := map[int64]*program{}
	for _, size := range []int64{25, 26, 10, 5} { // GiB
		idle[size] = s.start("notebook", byRun)
		idle[size].caches(size * gib)
	}
	plain, batch, train := s.start("plain", byRun), s.start("batch", withRescue), s.start("train", withRescue)

	// The least important program gets nothing, and the error is PyTorch's own text.
	s.refused("without a rescue", plain.attempt(30*gib), atOnce)
	refused, alone := batch.attempt(30*gib), batch.attempt(30*gib) // the second attempt does not ask the daemon
	s.refused("nothing to give", refused, atOnce)
	if refused.Error != alone.Error {
		s.Errorf("nothing to give: %s\nPyTorch alone: %s", refused.Error, alone.Error)
	}
	s.notices("not rescued: an allocation of 30.0G")
	var many, without struct{ Errors, MS float64 }
	batch.must("failures", map[string]any{"size": 30 * gib, "count": 1000}, &many)
	plain.must("failures", map[string]any{"size": 30 * gib, "count": 1000}, &without)
	s.Logf("1,000 failures took %.0f ms, %.0f ms without a rescue", many.MS, without.MS)
	if many.Errors != 1000 || many.MS > 2*without.MS+2000 {
		s.Errorf("%.0f of 1,000 failed, in %.0f ms", many.Errors, many.MS)
	}

	a := train.attempt(30 * gib)
	s.Logf("rescued: stood for %.0f ms", a.MS)
	if a.Error != "" {
		s.Fatalf("it is not rescued: %s", a.Error)
	}
	s.notices("rescued: an allocation of 30.0G succeeded")

	var eight []attempt
	train.must("threads", map[string]any{"size": 24 * gib, "count": 8}, &eight)
	succeeded := 0
	for _, a := range eight {
		s.Logf("one of eight threads: stood for %.0f ms: %.40s", a.MS, a.Error)
		if a.Error == "" {
			succeeded++
		}
	}
	if succeeded != 1 {
		s.Errorf("%d of eight threads got 24 GiB; there is room for one", succeeded)
	}

	// A neighbour that does not answer, and a daemon that is killed during the rescue.
	second, third := s.start("train", withRescue), s.start("train", withRescue)
	s.stopped(idle[10], func() { s.refused("a neighbour that does not answer", second.attempt(15*gib), inTime) })
	s.notices("has not freed its memory in time")
	s.notices(fmt.Sprintf("flushed PID %d ", idle[10].pid)) // the flush happens once the neighbour continues
	s.stopped(idle[5], func() {
		time.AfterFunc(500*time.Millisecond, func() { _ = s.daemon.Process.Kill() })
		s.refused("a daemon that is killed", third.attempt(18*gib), inTime)
	})
	fourth := s.start("train", withRescue)
	s.refused("no daemon", fourth.attempt(70*gib), atOnce)
	s.guard(strings.Replace(actsAndTrusts, `"act"`, `"dry-run"`, 1))
	s.refused("dry-run", s.start("train", withRescue).attempt(70*gib), atOnce)
}

// stopped calls act while a program is stopped.
func (s *shared) stopped(p *program, act func()) {
	s.Helper()
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := syscall.Kill(p.pid, signal); err != nil {
			s.Fatal(err)
		}
		if signal == syscall.SIGSTOP {
			act()
		}
	}
}
