// Package needs is for tests that need a program, a library or a header which not every machine
// has. Without it the test is skipped, or fails if .ci/run has installed everything (VRAMSCOPE_CI
// is set).
//
//	needs.Tool(t, "gdb") → its path
//	needs.Vramscope(t) → that of the program itself, built for the test
//	needs.Full(t) → skipped, but for .ci/run --full
//	needs.Missing(t, "there is no cuda.h")
package needs
