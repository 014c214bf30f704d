// Package service is vramscope daemon: it wires a sampler to the recorder, the exporter, the guard,
// the leases, the alerts and the socket that monitors ask.
//
//	settings ─→ sources.Set ─→ sampler ─→ daemon.Run ─┬→ recording, exporter
//	                                                  └→ socket, guard
//
// Start with daemon.go.
package service
