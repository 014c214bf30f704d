//go:build linux

// Command bench measures vramscope as a whole process against its budgets
// (docs/performance.md): on the fake driver, under a real pseudo-terminal that
// is read all the time, beside nvtop where it is installed.
//
//	go run ./scripts/bench [-for 20s] [-runs 20] [-only "16x64 10 Hz"] [-with "nvitop --interval 1"]…
//
// For each program: share of a core, resident memory, bytes a second to the
// terminal, time to the first frame; then how long `vramscope once` takes.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"vramscope/internal/fakedriver"
)

func main() {
	length := flag.Duration("for", 20*time.Second, "how long each program is watched")
	runs := flag.Int("runs", 20, "how often one-shot commands are run; the median is told")
	var others []string
	flag.Func("with", "another program to watch on the 8x8 box; may be given more than once", func(command string) error {
		others = append(others, command)
		return nil
	})
	only := flag.String("only", "", `only the programs whose "name box rate" contains this, and no one-shot commands`)
	flag.Parse()
	if err := bench(*length, *runs, *only, others); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(length time.Duration, runs int, only string, others []string) error {
	dir, err := os.MkdirTemp("", "vramscope-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a left-over temporary folder harms nobody
	program := filepath.Join(dir, "vramscope")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	fmt.Printf("%s, %d cores; %s a program, medians of %d runs for one-shot commands\n\n", runtime.GOARCH, runtime.NumCPU(), length, runs)

	small, err := newStage(dir, 8, 8)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "program\tbox\tscreen\trate\tCPU\tRSS\tto terminal\tfirst frame\t")
	watch := func(s *stage, name, rate string, command ...string) error {
		if !strings.Contains(name+" "+s.name+" "+rate, only) {
			return nil
		}
		m, err := s.watch(length, command)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(table, "%s\t%s\t200x50\t%s\t%.2f%%\t%.1f MiB\t%.2f kB/s\t%d ms\t\n",
			name, s.name, rate, m.cpu*100, float64(m.rss)/(1<<20), m.bytesPerSecond/1000, m.firstFrame.Milliseconds())
		return table.Flush()
	}
	if err := watch(small, "vramscope", "1 Hz", program); err != nil {
		return err
	}
	if nvtop, err := exec.LookPath("nvtop"); err == nil {
		if err := watch(small, "nvtop", "1 Hz", nvtop, "-d", "10"); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(os.Stderr, "bench: nvtop is not installed: not compared")
	}
	for _, other := range others {
		command := strings.Fields(other)
		if err := watch(small, command[0], "own", command...); err != nil {
			return err
		}
	}
	if err := watch(small, "vramscope --demo", "1 Hz", program, "--demo"); err != nil {
		return err
	}
	if only != "" {
		runs = 0
	}
	once, err := small.times(runs, program, "once", "--format", "json")
	if err != nil {
		return err
	}
	small.close()

	large, err := newStage(dir, 16, 64)
	if err != nil {
		return err
	}
	defer large.close()
	if err := watch(large, "vramscope", "1 Hz", program); err != nil {
		return err
	}
	if err := watch(large, "vramscope", "10 Hz", program, "--interval", "100ms"); err != nil {
		return err
	}
	onceLarge, err := large.times(runs, program, "once", "--format", "json")
	if err != nil {
		return err
	}
	version, err := large.times(runs, program, "--version")
	if err != nil {
		return err
	}
	if runs == 0 {
		return nil
	}
	fmt.Printf("\nonce --format json   8x8 %s   16x64 %s\n--version            %s\n", spread(once), spread(onceLarge), spread(version))
	return nil
}

// times runs a command so often, after one run that does not count.
func (s *stage) times(runs int, command ...string) ([]time.Duration, error) {
	if runs == 0 {
		return nil, nil
	}
	took := make([]time.Duration, 0, runs)
	for i := range runs + 1 {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Env = s.environment
		begin := time.Now()
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%v: %w", command, err)
		}
		if i > 0 {
			took = append(took, time.Since(begin))
		}
	}
	slices.Sort(took)
	return took, nil
}

func spread(took []time.Duration) string {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return fmt.Sprintf("%.1f ms (%.1f–%.1f)", ms(took[len(took)/2]), ms(took[0]), ms(took[len(took)-1]))
}

// stage is a fake GPU box with real processes, whose memory moves.
type stage struct {
	name        string
	environment []string
	population  *fakedriver.Population
	stop        chan struct{}
	stopped     chan struct{}
}

func newStage(dir string, gpus, processes int) (*stage, error) {
	library, err := fakedriver.Compile(fakedriver.Current)
	if err != nil {
		return nil, err
	}
	state := fakedriver.Box(gpus, processes)
	for i := range state.GPUs {
		for j := range state.GPUs[i].Processes {
			state.GPUs[i].Processes[j].Command = []string{"python", fmt.Sprintf("train_%d_%d.py", i, j), "--cfg", "llama-7b.yaml"}
		}
	}
	population, err := fakedriver.Populate(&state)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%dx%d", gpus, processes)
	path := filepath.Join(dir, name)
	if err := state.Write(path); err != nil {
		return nil, err
	}
	s := &stage{
		name: name, population: population,
		environment: append(append(os.Environ(), fakedriver.Environment(library, path)...), "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8"),
		stop:        make(chan struct{}), stopped: make(chan struct{}),
	}
	live := fakedriver.NewLive(state)
	go func() {
		defer close(s.stopped)
		for second := 1; ; second++ {
			select {
			case <-s.stop:
				return
			case <-time.After(time.Second):
				if err := live.At(second).Write(path); err != nil {
					fmt.Fprintln(os.Stderr, "bench:", err)
					return
				}
			}
		}
	}()
	return s, nil
}

func (s *stage) close() {
	close(s.stop)
	<-s.stopped
	s.population.Close()
}
