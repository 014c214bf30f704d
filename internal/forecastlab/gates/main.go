package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"
)

// options are the command's options.
type options struct {
	first uint64 // seed
	quick bool
	log   bool
}

// count returns n, or for a quick run a sixth of n, at least two.
func (o *options) count(n int) int {
	if o.quick {
		return max(n/6, 2)
	}
	return n
}

// detail prints a line on standard error if -v is given.
func (o *options) detail(format string, args ...any) {
	if o.log {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}
}

// row is one figure of a gate.
type row struct {
	gate              int
	what, aim, figure string
	met               bool
	of                string // the number of series, fills or answers behind the figure
}

// gates returns all gates. Gates that use the same series are measured together.
func gates() []gate {
	all := []gate{{"1 2 3 4 5 6 forecasts", forecasts}, {"7 alerts a fill", alertsAFill}, {"9 mixed weeks", mixedWeeks}}
	for _, t := range trials() {
		all = append(all, gate{fmt.Sprint(t.gate, " ", t.what), func(o *options) []row { return []row{t.measure(o)} }})
	}
	return all
}

type gate struct {
	names   string
	measure func(o *options) []row
}

func main() {
	var o options
	flag.Uint64Var(&o.first, "first", 20_000, "the first seed of the series")
	flag.BoolVar(&o.quick, "quick", false, "measure a sixth of the series")
	flag.BoolVar(&o.log, "v", false, "print every wrong alert and every missed fill")
	only := flag.String("only", "", "the gates to measure: a regular expression of their numbers and names, as \\b9\\b")
	flag.Parse()
	chosen, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gates:", err)
		os.Exit(2)
	}
	began := time.Now()
	var rows []row
	for _, g := range gates() {
		if chosen.MatchString(g.names) {
			started := time.Now()
			rows = append(rows, g.measure(&o)...)
			o.detail("%s: %.0f s", g.names, time.Since(started).Seconds())
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return a.gate - b.gate })
	fmt.Println("| | gate | aim | figure | met | of |\n|---:|---|---|---|---|---|")
	for _, r := range rows {
		fmt.Printf("| %d | %s | %s | %s | %s | %s |\n", r.gate, r.what, r.aim, r.figure, map[bool]string{true: "yes", false: "**no**"}[r.met], r.of)
	}
	fmt.Printf("\nSeeds from %d; %.0f s on %d cores.\n", o.first, time.Since(began).Seconds(), runtime.GOMAXPROCS(0))
}

// each calls a function for each index below n, as many at once as there are processors, and returns
// the results in order.
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
