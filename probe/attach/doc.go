// Package attach starts the Python probe in a process that is already running.
//
//	Examine ── /proc, ELF files, gdb ──→ Plan: the method, and the reasons against it
//	   ↓ the user confirms
//	Enter ──┬ 3.8–3.13  gdb ── stop ── start one thread ── detach ──────┐
//	        └ 3.14 on   sys.remote_exec by the process's own Python ────┤
//	                                                                    ↓
//	      probe ←── socket ←── vramscope_probe._start ←── payload in the process
//
// gdb stops the process in any state, so it calls no function that needs the GIL. It only
// starts a thread, which waits for the GIL like any other and then runs the payload. Starting a
// thread uses the C library's heap, so gdb does it in a thread that holds none of that library's
// locks: one in a system call across which no such lock is held, or one in CPython's own code.
// /proc/PID/task/TID/syscall shows which threads qualify. If none does, the process continues at
// once and is stopped again a moment later.
//
// gdb sets no breakpoints, which a forked child would inherit, and reads no symbols: the addresses
// come from the ELF files. So the process stops for milliseconds, however many libraries it has.
//
// gdb reads its commands from standard input. When vramscope ends, for whatever reason, gdb reads
// the end of its input, detaches and exits.
//
// Start reading at attach.go, then examine.go, and inject.go for gdb or remote.go
// for sys.remote_exec.
package attach
