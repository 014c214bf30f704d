// Package metric has the table of metrics: the name, unit, help and source of each
// metric of a GPU and of a process.
//
//	driver ─ nvml ─→ Sensors ─→ snapshot.GPU ──┬─→ JSON, CSV (schema, cli)
//	                                           ├─→ history (sampler)
//	                                           └─→ Prometheus (exporter)
//	                 Table ── name, unit, help ──┘
//
// Sensors is passed as a whole from nvml to the snapshot, so no layer copies single fields.
// snapshot.GPU.Value and snapshot.Process.Value read any metric by its ID.
//
// # Add a metric of a GPU
//
//  1. metric/table.go: an ID, a field of Sensors and a row of Table, with its name
//     in Prometheus. JSON, CSV, history, exporter and the JSON Schema are derived from the row.
//  2. nvml/capability.go: the entry point of the NVML function, if it is not there yet.
//  3. nvml/sensors.go: the call; in nvml/rare.go if it rarely changes.
//  4. internal/fakedriver/state.go: a key of the fake driver's state file.
//  5. internal/fakedriver/nvml/sensors.c: the NVML function, which answers with that key's value.
//
// Then `make golden` rewrites the generated parts: the keys in C, the JSON Schema, the rows of
// docs/json.md and the golden files. The demo shows the metric as unknown until
// sampler/simulator/driver.go sets it.
package metric
