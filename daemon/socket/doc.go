// Package socket is how a monitor and the daemon speak: both ends of a Unix
// socket, one JSON object a line, as the probes' protocol has it.
//
//	sampler ─ Latest, probe answers, History ─→ Server ── others: numbers alone (place.go) ──┐
//	                                              ↑ limits: clients, sizes, rates, times      │ daemon.sock,
//	sampler.ProbeReader ←── Reader ── probe.Relayed ──┐                                        │ owner.sock
//	snapshot.History    ←── Past ── schema.Document ──┴─ Client ←──────────────────────────────┘
//
// docs/daemon.md describes the requests and answers. A daemon is trusted where it
// is root's or one's own, and what it says is checked nevertheless.
//
// Start reading at Server.
package socket
