// Package daemon is vramscope without a screen: it samples for as long as it runs, and passes
// each snapshot on.
//
//	sampler ─ Updates ─→ Run ─┬─→ Recorder      what is sampled is recorded (--record)
//	signals, watchdog ───↗    ├─→ Alerts        [alerts] exec: the user's own command
//	                          └─→ socket.Server monitors ask: snapshot, probes, past
//
// There is one for each box and user: Lock. Run ends at SIGTERM, and with ErrReload at SIGHUP:
// its caller then executes the program again, which reads its configuration and goes on with the
// same past.
//
// Start reading at Run.
package daemon
