// Package needs is for tests that need a program, a library or a header that not every machine has.
// Where something is missing, the test is skipped, or fails if .ci/run has installed everything
// (VRAMSCOPE_CI is set).
//
//	needs.Tool(t, "gdb") → path of gdb
//	needs.Vramscope(t) → path of vramscope, built for the test
//	needs.Full(t) → skipped, except in .ci/run --full
//	needs.Missing(t, "there is no cuda.h")
package needs
