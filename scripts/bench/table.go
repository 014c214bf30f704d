//go:build linux

package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"time"
)

// report holds the tables, in Markdown. say also prints them at once.
type report struct {
	options options
	text    strings.Builder
}

func (r *report) say(format string, values ...any) {
	line := fmt.Sprintf(format, values...)
	fmt.Print(line)
	r.text.WriteString(line)
}

func (r *report) open() {
	r.say("Measured on %s: %s with %d cores, load %s, medians of %d runs of %s after %s. The ratio is that of the processor\ntime to nvtop's in the same run, with the least and the greatest.\n",
		time.Now().Format(time.DateOnly), runtime.GOARCH, runtime.NumCPU(), load(), r.options.runs, r.options.length, r.options.warmUp)
}

// load returns the machine's load of the last minute.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg") // every Linux has it
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// add writes a scenario's table.
func (r *report) add(s scenario, all []figures) {
	r.say("\n### %s\n\n", s.name)
	r.say("| program | CPU | × nvtop | RSS | anonymous | threads | wake-ups/s | syscalls/s | to the terminal | first frame | whole |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, f := range all {
		first, whole := milliseconds(f.firstFrame), milliseconds(f.wholeFrame)
		if f.program.daemon || f.program.bare {
			first, whole = "", ""
		}
		r.say("| %s | %.2f %% | %s | %s | %s | %d | %.0f | %s | %.2f kB/s | %s | %s |\n", f.program.name, f.cpu*100, f.ratio, mebibytes(f.rss), mebibytes(f.anonymous),
			f.threads, f.switches, number(f.syscalls, "%.0f"), f.bytesPerSecond/1000, first, whole)
	}
}

func (s spread) String() string {
	if math.IsNaN(s.median) {
		return "–"
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", s.median, s.least, s.most)
}

func number(v float64, format string) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf(format, v)
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.0f ms", float64(d.Microseconds())/1000)
}

// The tables stand between these lines of the page.
const beginTables, endTables = "<!-- bench -->", "<!-- /bench -->"

// write puts the tables into the page that -write names, if any.
func (r *report) write() error {
	if r.options.page == "" {
		return nil
	}
	page, err := os.ReadFile(r.options.page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(page), beginTables)
	_, after, ended := strings.Cut(rest, endTables)
	if !found || !ended {
		return fmt.Errorf("%s has no lines %s and %s", r.options.page, beginTables, endTables)
	}
	return os.WriteFile(r.options.page, []byte(before+beginTables+"\n"+r.text.String()+endTables+after), 0o644)
}
