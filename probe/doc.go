// Package probe is both ends of protocol vramscope/1, by which a process
// reports its own GPU memory: one JSON object a line over a Unix stream socket.
//
//	Handler ── Server ── socket ── Client ── Monitor ── Answers
//	in the probe process  │         Finder: whose socket is it?
//	                      └ lines → request → reply → lines
//
// docs/protocol.md describes the protocol for implementers, and every server
// must pass testdata/conformance. Neither end trusts the other:
// message.go bounds what is read, and check.go refuses impossible figures.
//
// Every allocator's report obeys, in bytes,
//
//	reserved = allocated + cached + fragmented
//
// Start reading at protocol.go (the messages), then server.go for the probe's
// end, and monitor.go, discovery.go and session.go for the monitor's.
package probe
