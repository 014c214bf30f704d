//go:build linux

// Command bench measures vramscope as a whole process beside other monitors, on the fake driver. Each
// program runs under a real pseudo-terminal that is read all the time. All run at once, so other work
// of the machine affects them all alike. The figure to compare is the ratio to nvtop in the same seconds.
//
//	scenarios ─→ stage: a box with real processes ─→ watch: all programs, N times
//	          ─→ figures: medians, ratios, spread ─→ table; docs/performance.md (-write)
//
//	go run ./scripts/bench -write docs/performance.md     a quarter of an hour
//	go run ./scripts/bench [-for 5s] [-runs 5] [-only "8 × 8"] [-with "vramtop"]
//	go run ./scripts/bench -short     the first scenario briefly; fails on a gross regression
//
// Start reading at bench (main.go). watch.go measures one program, long.go measures
// programs after ten minutes, counters.go reads the kernel's figures, and oneshot.go
// times commands that end.
package main
