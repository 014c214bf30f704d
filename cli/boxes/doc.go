// Package boxes has the commands about many boxes: fleet with its screen, fleet once,
// fleet headroom, and the simulated boxes of demo fleet.
//
//	flags ─→ fleet.Source (Prometheus, ssh, simulated) ─┬→ fleet/screen
//	                                                    └→ a table, JSON
//
// Start with fleet.go.
package boxes
