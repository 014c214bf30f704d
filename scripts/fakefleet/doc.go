// Command fakefleet serves /metrics of many simulated boxes from one process and one
// port, each at a path of its own, and writes the configuration with which a Prometheus
// scrapes them.
//
//	box, time ── boxAt ──→ snapshot.Snapshot ── exporter ──→ /box-0007/metrics
//	POST /box-0007/down, …/slow, …/failing, …/up ──→ how it answers from now on
//
// A box's figures depend only on its number and the time, so nothing but its mode is kept. They are
// marked as simulated.
//
// Start reading at main.go; box.go has what happens on a box.
package main
