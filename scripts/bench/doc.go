//go:build linux

// Command bench measures vramscope as a whole process beside other monitors: on the fake driver,
// each under a real pseudo-terminal that is read all the time, all at once, so that other work of
// the machine affects all of them alike. What counts is the ratio to nvtop in the same seconds.
//
//	scenarios ─→ stage: a box with real processes ─→ watch: all programs, N times
//	          ─→ figures: medians, ratios, spread ─→ table; docs/performance.md (-write)
//
//	go run ./scripts/bench -write docs/performance.md     a quarter of an hour
//	go run ./scripts/bench [-for 5s] [-runs 5] [-only "8 × 8"] [-with "vramtop"]
//	go run ./scripts/bench -short     the first scenario briefly; fails on a gross regression
//
// Start reading at bench (main.go); watch.go measures one program, long.go does so
// after ten minutes, counters.go reads the kernel's figures, oneshot.go times commands
// that end.
package main
