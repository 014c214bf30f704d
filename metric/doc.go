// Package metric is the table of what vramscope measures: the name, unit, help
// and source of each metric of a GPU and of a process.
//
//	driver ─ nvml ─→ Sensors ─→ snapshot.GPU ──┬─→ JSON, CSV (schema, cli)
//	                                           ├─→ history (sampler)
//	                                           └─→ Prometheus (exporter)
//	                 Table ── name, unit, help ──┘
//
// Sensors holds what the driver reports about a GPU besides its memory. It is passed as a whole
// from nvml to the snapshot, so that no layer copies single fields. The other metrics are fields of
// a snapshot; snapshot.GPU.Value and snapshot.Process.Value read any of them by ID.
//
// # Add a metric of a GPU
//
//  1. metric/table.go: an ID, a field of Sensors and a row of Table, with its name
//     in Prometheus. JSON, CSV, history, exporter and the JSON Schema follow from it.
//  2. nvml/capability.go: the NVML function's entry point, if it is a new one.
//  3. nvml/sensors.go: the call; in nvml/rare.go if it rarely changes.
//  4. internal/fakedriver/state.go: a key of the fake driver's state file.
//  5. internal/fakedriver/nvml/sensors.c: the function that answers with it.
//
// Then `make golden` rewrites the generated parts: the keys in C, the JSON Schema, the rows of
// docs/json.md and the golden files. The tests of nvml, schema and metric loop over Table, so they
// cover a new row too. The demo shows the metric as unknown until sampler/simulator/driver.go sets
// it.
package metric
