// Package sources opens what commands read: the driver, /proc, probes and the
// daemons of this box, a simulated box, or a recording.
//
//	settings ─→ Open ─→ Set ─┬→ sampler.New(Set.Options)
//	                         ├→ Observe, ObserveUntil   a snapshot, for commands that end
//	                         └→ Unusable                no driver, no GPU: what to do
//
// Start with sources.go; observe.go takes samples, nodriver.go has the messages.
package sources
