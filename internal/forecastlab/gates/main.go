package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
)

// options are those of the command.
type options struct {
	first uint64 // seed
	quick bool
	log   bool
}

// count is a number of series, a sixth of it where it must be quick.
func (o *options) count(n int) int {
	if o.quick {
		return max(n/6, 2)
	}
	return n
}

// detail is a line for those who work on a gate.
func (o *options) detail(format string, args ...any) {
	if o.log {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}
}

// row is one figure of a gate.
type row struct {
	what, aim, figure string
	met               bool
	of                string // how many series or fills
}

// gate is one of the twelve. One that cannot be measured here has no figure.
type gate struct {
	number  int
	name    string
	measure func(o *options) []row
}

func main() {
	var o options
	flag.Uint64Var(&o.first, "first", 20_000, "the first seed of the series")
	flag.BoolVar(&o.quick, "quick", false, "measure a sixth of the series")
	flag.BoolVar(&o.log, "v", false, "print every wrong alert and every missed fill")
	only := flag.String("only", "", "the gates to measure: a regular expression of their numbers and names")
	flag.Parse()
	chosen, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gates:", err)
		os.Exit(2)
	}
	began := time.Now()
	var b strings.Builder
	b.WriteString("| | gate | aim | figure | met | of |\n|---:|---|---|---|---|---|\n")
	for _, g := range gates {
		if !chosen.MatchString(fmt.Sprint(g.number, " ", g.name)) {
			continue
		}
		started := time.Now()
		for _, r := range g.measure(&o) {
			met := "**no**"
			if r.met {
				met = "yes"
			}
			fmt.Fprintf(&b, "| %d | %s: %s | %s | %s | %s | %s |\n", g.number, g.name, r.what, r.aim, r.figure, met, r.of)
		}
		o.detail("gate %d took %.0f s", g.number, time.Since(started).Seconds())
	}
	fmt.Printf("%s\nSeeds from %d; %.0f s on %d cores.\n", b.String(), o.first, time.Since(began).Seconds(), runtime.GOMAXPROCS(0))
}

// each calls for each index, as many at once as there are processors, and returns the
// results in order.
func each[T any](n int, call func(i int) T) []T {
	results, free := make([]T, n), make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for i := range n {
		free <- struct{}{}
		all.Go(func() {
			results[i] = call(i)
			<-free
		})
	}
	all.Wait()
	return results
}
