// Package daemon runs vramscope without a screen: it samples continuously, and passes each snapshot
// on.
//
//	sampler ─ Updates ─→ Run ─┬─→ Recorder      what is sampled is recorded (--record)
//	signals, watchdog ───↗    ├─→ Alerts        [alerts] exec: the user's own command
//	                          └─→ socket.Server monitors ask: snapshot, probes, past
//
// Each user has at most one daemon on a box (see lock). Run ends at SIGTERM, and with ErrReload at
// SIGHUP. Its caller then executes the program again, which reads its configuration and continues
// with the same past.
//
// Start reading at Run.
package daemon
