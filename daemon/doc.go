// Package daemon runs vramscope without a screen: it samples continuously, and passes each snapshot
// on.
//
//	sampler ─ Updates ─→ Run ─┬─→ Recorder      what is sampled is recorded (--record)
//	signals, watchdog ───↗    ├─→ Alerts        [alerts] exec: the user's own command
//	                          └─→ socket.Server monitors ask: snapshot, probes, past
//
// Each user has at most one daemon on a box (see lock). Run ends at SIGTERM. At SIGHUP it returns
// ErrReload, and the caller executes the program again, with the new configuration.
//
// Start reading at Run.
package daemon
