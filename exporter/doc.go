// Package exporter publishes the latest Snapshot to Prometheus.
//
//	daemon ── Observe ──→ Exporter ── gather ──→ /metrics        (a scrape)
//	                         └─────────────────→ /snapshot.json, /healthz
//
// A scrape reads the last snapshot observed, and never the driver. A figure that could not be read
// has no series. An old snapshot has only the series of the host, the time and the interval. Names,
// labels and help come from the two tables of package metric, as does docs/exporter.md.
//
// Start reading at Exporter.gather.
package exporter
