//go:build linux && cgo

package reallibraries

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// cell holds the comparison for one release, one configuration and one way to get a probe into the
// program.
type cell struct {
	release, configuration, how string
	known                       string // the identity in which a known fault shows

	equal   []string          // the identities that hold
	differs map[string]string // identity → its first difference
	took    time.Duration
	asked   int           // questions to vramscope
	probe   time.Duration // CPU time of the probe's thread
	paused  float64       // by gdb, in ms
}

// table has the cells of this run that have been compared.
var table struct {
	sync.Mutex
	cells []*cell
}

func newCell(t *testing.T, j job, configuration string) *cell {
	c := &cell{release: filepath.Base(j.site), configuration: configuration, how: j.how, differs: map[string]string{}}
	began := time.Now()
	t.Cleanup(func() {
		c.took = time.Since(began)
		if t.Failed() && len(c.differs) == 0 {
			c.differs["–"] = "the comparison ended early"
		}
		table.Lock()
		defer table.Unlock()
		table.cells = append(table.cells, c)
		if path := os.Getenv("VRAMSCOPE_REAL_TABLE"); path != "" { // at once: a run may be interrupted
			if err := writeTable(path, table.cells); err != nil {
				t.Error(err)
			}
		}
	})
	return c
}

// note records whether an identity holds. An identity that has differed once stays different.
func (c *cell) note(t *testing.T, identity string, differences ...string) {
	t.Helper()
	for _, what := range differences {
		if identity == c.known {
			t.Logf("known: %s: %s", identity, what)
		} else {
			t.Errorf("%s: %s", identity, what)
		}
		c.differs[identity] = cmp.Or(c.differs[identity], what)
	}
	if c.differs[identity] == "" && !slices.Contains(c.equal, identity) {
		c.equal = append(c.equal, identity)
	}
	c.equal = slices.DeleteFunc(c.equal, func(name string) bool { return c.differs[name] != "" })
}

// cost records what the probe has cost the program: the CPU time of the probe's thread,
// and for how long gdb stopped the process.
func (c *cell) cost(p *program) {
	p.t.Helper()
	c.asked = *p.questions
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", p.pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, thread := range threads {
		name, _ := os.ReadFile(filepath.Join(thread, "comm")) // a thread may have ended
		if strings.TrimSpace(string(name)) != "vramscope" {
			continue
		}
		spent, _ := os.ReadFile(filepath.Join(thread, "schedstat"))
		first, _, _ := strings.Cut(string(spent), " ")
		if ns, err := strconv.ParseInt(first, 10, 64); err == nil {
			c.probe += time.Duration(ns)
		}
	}
	log, _ := os.ReadFile(filepath.Join(p.own, "vramscope", "audit.log")) // without an attach there may be none
	for line := range strings.Lines(string(log)) {
		var entry struct {
			PID      int
			Standing float64 `json:"standstill_ms"`
		}
		if json.Unmarshal([]byte(line), &entry) == nil && entry.PID == p.pid && entry.Standing > 0 {
			c.paused = entry.Standing
		}
	}
}

const legend = `# Measured with real libraries

Made by ` + "`scripts/real-libraries --all --table`" + `. The libraries are the releases from PyPI; the driver below them is the
fake one, so every allocator is real and no kernel runs. Each line is one program.

| column | |
|---|---|
| started | how the probe got in: ` + "`vramscope run`, `vramscope attach`" + ` (gdb), or ` + "`vramscope run --preload`" + `: the native library beside Python's probe |
| equal | what was equal, to the byte |
| differs | what was not, and the first difference |
| s | how long the comparison took |
| questions | how often vramscope was called meanwhile: ` + "`once`, `flush`, `snapshot`" + ` |
| probe, ms | CPU time of the probes' threads in the program, from their start to the end of the comparison |
| paused, ms | for how long gdb stopped the program |

| equal | |
|---|---|
| driver | what ` + "`once`" + ` shows as used, by all processes = capacity − ` + "`cudaMemGetInfo`" + `; what no allocator has = a context (and what the program has from the driver itself, where there is no native library that knows it) |
| stats | PyTorch: the report = ` + "`memory_stats`" + `: reserved, allocated, pending, their peaks, blocks, errors, retries; fragmented and segments, where PyTorch counts them. JAX: = ` + "`device.memory_stats()`" + `: reserved, allocated, their peaks, cached. TensorFlow: = ` + "`tf.config.experimental.get_memory_info`" + `: allocated, its peak; what it has reserved, which it does not report, = what the native library has seen it take. With their asynchronous allocators: reserved = the CUDA pool's, by the driver |
| blocks | the report = sums over the allocator's snapshot: reserved, allocated, cached, fragmented, the largest free block, segments, fragmented segments |
| errors | out-of-memory errors that the program has caught = those shown, where an allocator counts them (JAX and TensorFlow count none) |
| no flush | of a library that keeps its memory, a flush is refused and says why, nothing is returnable, and nothing changes |
| workers | the reports of child processes = their own ` + "`memory_stats`" + ` |
| snapshot | what ` + "`vramscope snapshot`" + ` writes = ` + "`torch.cuda.memory._snapshot()`" + `, and ` + "`torch.cuda._memory_viz`" + ` shows all of it: segsum, flame graph, trace, both plots |
| map | the map's sums = the blocks'; what is cached in it = returnable |
| flush | at that level: what was predicted = what was freed = what the allocator then lacks = what the driver then has |
`

// writeTable writes what was compared as a page.
func writeTable(path string, cells []*cell) error {
	// Tests run in parallel, so the cells come in any order.
	slices.SortStableFunc(cells, func(a, b *cell) int { return cmp.Or(cmp.Compare(a.release, b.release), cmp.Compare(a.how, b.how)) })
	python, err := exec.Command("python3", "--version").Output()
	if err != nil {
		return err
	}
	sections := sectionsOf(path)
	for _, c := range cells {
		sections[c.release] = ""
	}
	for _, c := range cells {
		if sections[c.release] == "" {
			sections[c.release] = fmt.Sprintf("Measured %s, %s, %d processors, %s.\n\n", time.Now().UTC().Format(time.DateOnly),
				runtime.GOARCH, runtime.NumCPU(), strings.TrimSpace(string(python))) +
				"| configuration | started | equal | differs | s | questions | probe, ms | paused, ms |\n|---|---|---|---|---|---|---|---|\n"
		}
		sections[c.release] += c.line()
	}
	page := legend
	for _, release := range slices.Sorted(maps.Keys(sections)) {
		page += "\n## " + release + "\n\n" + sections[release]
	}
	return os.WriteFile(path, []byte(page), 0o644)
}

// sectionsOf returns the sections of the existing page, by release. A run keeps the sections of the
// releases that it does not test.
func sectionsOf(path string) map[string]string {
	sections := map[string]string{}
	old, _ := os.ReadFile(path) // there may be none
	for i, section := range strings.Split(string(old), "\n## ") {
		if release, text, found := strings.Cut(section, "\n\n"); found && i > 0 {
			sections[release] = strings.TrimRight(text, "\n") + "\n"
		}
	}
	return sections
}

func (c *cell) line() string {
	var differs []string
	for identity, what := range c.differs {
		differs = append(differs, identity+": "+what)
	}
	slices.Sort(differs)
	paused := "–"
	if c.paused > 0 {
		paused = fmt.Sprintf("%.0f", c.paused)
	}
	slices.Sort(c.equal) // they come from a map
	column := strings.NewReplacer("|", "\\|", "\n", " ")
	return fmt.Sprintf("| %s | %s | %s | %s | %.1f | %d | %.1f | %s |\n", c.configuration, c.how,
		cmp.Or(strings.Join(c.equal, ", "), "–"), cmp.Or(column.Replace(strings.Join(differs, "; ")), "–"),
		c.took.Seconds(), c.asked, float64(c.probe.Microseconds())/1000, paused)
}
