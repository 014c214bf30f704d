//go:build linux

// Command bench measures vramscope as a whole process against its budgets
// (docs/performance.md): on the fake driver, under a real pseudo-terminal that
// is read all the time, beside nvtop where it is installed.
//
//	go run ./scripts/bench [-for 20s] [-runs 20] [-only "16x64 10 Hz"] [-with "nvitop --interval 1"]…
//
// For each program: share of a core, resident memory, bytes a second to the
// terminal, time to the first frame; then how long `vramscope once` takes.
// Start reading at bench (main.go); watch.go measures one program.
package main
