// Package fleet shows many boxes at once, as a Prometheus engine or the boxes themselves over ssh
// report them.
//
//	engine ── aggregated queries ─→ Prometheus ─┐
//	ssh BOX vramscope stream ─────→ SSH ────────┴─ Source ── Poller ── one slot ──→ Picture ──→ screen, once
//	                                                  └─ Box, Past ──→ Open ──→ the monitor's screen, of one box
//
// A Picture has at most the requested number of lines, the first in the chosen order, and for Prometheus as many of
// each kind of problem. Prometheus sums itself; for ssh this package does. All input from outside is hostile:
// texts are cleaned where they are shown, hosts are validated before they reach a command line (host.go),
// answers are bounded.
//
// Start reading at source.go and picture.go; prometheus.go and ssh.go are the sources.
package fleet
