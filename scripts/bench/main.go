//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// options are the command line.
type options struct {
	length   time.Duration
	warmUp   time.Duration
	runs     int
	only     string
	with     []string // further programs
	page     string
	long     time.Duration
	short    bool
	programs string // words that the names of the wanted programs contain; "" is all
}

func main() {
	var o options
	flag.DurationVar(&o.length, "for", 10*time.Second, "how long the programs are watched in each run")
	flag.DurationVar(&o.warmUp, "warm-up", 20*time.Second, "how long they run before: a start is over, and what it needed is unmapped after 10 s")
	flag.DurationVar(&o.long, "long", 10*time.Minute, "after how long the memory of a monitor that stays open is looked at, beside the rest; 0: not")
	flag.IntVar(&o.runs, "runs", 5, "how often; medians are reported")
	flag.StringVar(&o.only, "only", "", "only scenarios whose name contains this")
	flag.StringVar(&o.programs, "programs", "", "only programs whose name contains one of these words, and nvtop")
	flag.StringVar(&o.page, "write", "", "write the tables into this file, between its markers")
	flag.BoolVar(&o.short, "short", false, "the first scenario, briefly, beside nvtop; fails on a gross regression")
	flag.Func("with", "another program to watch; may be given more than once", func(command string) error {
		o.with = append(o.with, command)
		return nil
	})
	flag.Parse()
	if err := bench(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// grossRegression is a ratio to nvtop's processor time, far above the promised ratio, because CI's
// machines are noisy. -short fails if no run was below it.
const grossRegression = 2.5

func bench(o options) error {
	dir, err := os.MkdirTemp("", "vramscope-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a left-over temporary folder is harmless
	if o.short {
		o.runs, o.long, o.only, o.programs = 2, 0, scenarios[0].name, "vramscope"
		o.warmUp, o.length = o.warmUp/2, o.length/2
	}
	programs, err := findPrograms(dir, o)
	if err != nil {
		return err
	}
	out := &report{options: o}
	out.open()
	later := out.startLong(dir, programs, o)
	var failures []error // the other scenarios are measured and written anyway
	for _, s := range scenarios {
		if o.short && s.name != o.only || !strings.Contains(s.name, o.only) {
			continue
		}
		measured, err := s.run(dir, programs, o)
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", s.name, err))
			continue
		}
		out.add(s, measured)
		if ratio := measured[0].ratio; o.short && ratio.least > grossRegression {
			failures = append(failures, fmt.Errorf("%s takes %.1f times the processor time of nvtop, and %.1f is a gross regression: see go run ./scripts/bench", programs[0].name, ratio.least, grossRegression))
		}
	}
	if !o.short && o.programs == "" {
		failures = append(failures, out.oneShot(dir, programs, o))
	}
	failures = append(failures, later(), out.write())
	return errors.Join(failures...)
}
