// Package probe is the monitor's end of protocol vramscope/1, by which a process
// reports its own GPU memory: one JSON object a line over a Unix stream socket.
//
//	probe in a process ── socket ── Client ── Monitor ── Answers
//	                        Finder: whose socket is it?
//
// The probes are in agent (Python) and preload (C). docs/protocol.md describes the protocol, and
// every server must pass testdata/conformance. A monitor checks what probes report: message.go limits
// what is read, and check.go refuses impossible figures.
//
// The report of an allocator that knows all of its parts obeys, in bytes,
//
//	reserved = allocated + cached + fragmented
//
// Start reading at protocol.go (the messages), then monitor.go, discovery.go and session.go.
package probe
