//go:build linux

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
	"time"

	"vramscope/internal/fakedriver"
)

func main() {
	length := flag.Duration("for", 20*time.Second, "how long each program is watched")
	runs := flag.Int("runs", 20, "how often one-shot commands are run; the median is reported")
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
	defer func() { _ = os.RemoveAll(dir) }() // a left-over temporary folder is harmless
	program := filepath.Join(dir, "vramscope")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	fmt.Printf("%s, %d cores; %s a program, medians of %d runs for one-shot commands\n\n", runtime.GOARCH, runtime.NumCPU(), length, runs)
	if only != "" {
		runs = 0
	}
	fmt.Printf(lineFormat, "program", "box", "screen", "rate", "CPU", "RSS", "to terminal", "first frame")
	r := &report{program: program, length: length, runs: runs, only: only}
	compared := []watched{{"vramscope", "1 Hz", []string{program}}}
	if nvtop, err := exec.LookPath("nvtop"); err == nil {
		compared = append(compared, watched{"nvtop", "1 Hz", []string{nvtop, "-d", "10"}})
	} else {
		fmt.Fprintln(os.Stderr, "bench: nvtop is not installed: not compared")
	}
	for _, other := range others {
		command := strings.Fields(other)
		compared = append(compared, watched{command[0], "own", command})
	}
	compared = append(compared, watched{"vramscope --demo", "1 Hz", []string{program, "--demo"}})
	// In a mount namespace of its own, as in its systemd unit, and with folders of its own.
	recording := watched{"daemon --record", "1 Hz", []string{"unshare", "-m", "sh", "-c", `mkdir -p /run/vramscope /var/lib/vramscope &&
		mount -t tmpfs -o mode=755 none /run/vramscope && mount -t tmpfs -o mode=755 none /var/lib/vramscope && exec "$0" daemon --record`, program}}
	if os.Geteuid() == 0 {
		compared = append(compared, recording)
	} else {
		fmt.Fprintln(os.Stderr, "bench: the daemon is measured as root")
	}
	small, _, err := r.box(dir, 8, 8, compared)
	if err != nil {
		return err
	}
	larger := []watched{
		{"vramscope", "1 Hz", []string{program}},
		{"vramscope", "10 Hz", []string{program, "--interval", "100ms"}},
	}
	if os.Geteuid() == 0 {
		larger = append(larger, recording)
	}
	large, version, err := r.box(dir, 16, 64, larger)
	if err != nil || runs == 0 {
		return err
	}
	fmt.Printf("\nonce --format json   8x8 %s   16x64 %s\n--version            %s\n", spread(small), spread(large), spread(version))
	return nil
}

// lineFormat is a line of the table. Its widths are fixed: each line is written
// as soon as its program has been measured.
const lineFormat = "%-18s %6s %7s %6s %7s %10s %12s %12s\n"

// report is the table that is written while programs are measured.
type report struct {
	program string
	length  time.Duration
	runs    int
	only    string
}

// watched is a program to watch.
type watched struct {
	name, rate string
	command    []string
}

// box measures programs on a box, and gives how long vramscope's one-shot commands
// take there.
func (r *report) box(dir string, gpus, processes int, programs []watched) (once, version []time.Duration, err error) {
	s, err := newStage(dir, gpus, processes)
	if err != nil {
		return nil, nil, err
	}
	defer s.close()
	for _, p := range programs {
		if err := r.watch(s, p); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if once, err = s.times(r.runs, r.program, "once", "--format", "json"); err != nil {
		return nil, nil, err
	}
	version, err = s.times(r.runs, r.program, "--version")
	return once, version, err
}

// watch measures one program and writes its line, unless others are wanted.
func (r *report) watch(s *stage, p watched) error {
	if !strings.Contains(p.name+" "+s.name+" "+p.rate, r.only) {
		return nil
	}
	m, err := s.watch(r.length, p.command, strings.HasPrefix(p.name, "daemon"))
	if err != nil {
		return err
	}
	fmt.Printf(lineFormat, p.name, s.name, fmt.Sprintf("%dx%d", columns, rows), p.rate, fmt.Sprintf("%.2f%%", m.cpu*100),
		fmt.Sprintf("%.1f MiB", float64(m.rss)/(1<<20)), fmt.Sprintf("%.2f kB/s", m.bytesPerSecond/1000),
		fmt.Sprintf("%d ms", m.firstFrame.Milliseconds()))
	return nil
}

// times runs a command that many times, after one run that does not count.
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
	go func() {
		defer close(s.stopped)
		for second := 1; ; second++ {
			select {
			case <-s.stop:
				return
			case <-time.After(time.Second):
				if err := state.At(second).Write(path); err != nil {
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
