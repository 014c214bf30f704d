// Package attach starts the Python probe in a process that is already running.
//
//	Examine ── /proc, ELF files, gdb ──→ Plan: the method, and the reasons against it
//	   ↓ the user confirms
//	Enter ──┬ 3.8–3.13  gdb ── stop ── start one thread ── detach ──────┐
//	        └ 3.14 on   sys.remote_exec by the process's own Python ────┤
//	                                                                    ↓
//	      probe ←── socket ←── vramscope_probe._start ←── payload in the process
//
// With gdb, no function of Python that needs the interpreter or the heap is called where the process
// happens to stop: both may be in any state there. gdb only starts a thread, which waits for the
// GIL like any other and then runs the payload. Starting a thread uses the C library's heap.
// Therefore it is done in a thread that certainly holds none of the C library's locks: one that
// waits in a system call across which no such lock is held, or one that executes CPython's own
// code. /proc/PID/task/TID/syscall shows which threads qualify while the process is stopped. If
// none does, the process continues at once and is stopped again a moment later.
//
// There are no breakpoints, which a forked child would inherit, and gdb reads no
// symbols: the addresses come from the ELF files. So the process stops for
// milliseconds, however many libraries it has.
//
// gdb reads its commands from standard input. When vramscope ends, for whatever
// reason, gdb reads the end of its input, detaches and exits.
//
// Start reading at attach.go, then examine.go, and inject.go for gdb or remote.go
// for sys.remote_exec.
package attach
