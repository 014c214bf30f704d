// Command fakefleet serves /metrics of many simulated boxes from one process and one
// port, each at a path of its own, and writes the configuration with which a Prometheus
// scrapes them.
//
//	box, time ── boxAt ──→ snapshot.Snapshot ── exporter ──→ /box-0007/metrics
//	POST /box-0007/down, …/slow, …/failing, …/stopped, …/up ──→ how the box answers from now on
//
// A box's figures depend only on its number and the time. So only its mode is kept, and when it was
// stopped. The figures are marked as simulated.
//
// Start reading at main.go; box.go has what happens on a box.
package main
