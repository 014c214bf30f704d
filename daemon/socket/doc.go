// Package socket is the protocol between a monitor and the daemon: both ends of a Unix socket,
// one JSON object a line, as in the probes' protocol.
//
//	sampler ─ Latest, probe answers, History ─→ Server ── others: numbers alone (place.go) ──┐
//	                                              ↑ limits: clients, sizes, rates, times      │ daemon.sock,
//	sampler.ProbeReader ←── Reader ── probe.Relayed ──┐                                        │ owner.sock
//	snapshot.History    ←── Past ── schema.Document ──┴─ Client ←──────────────────────────────┘
//
// docs/daemon.md describes the requests and answers. A client connects only to root's daemon or
// its user's own, and checks the answers nevertheless.
//
// Start reading at Server.
package socket
