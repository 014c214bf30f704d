package schema

import "vramscope/sampler/snapshot"

// AlertVersion is the schema of what [alerts] exec gets on standard input.
const AlertVersion = "vramscope/alert/1"

// AlertDocument is an alert at the moment it was raised (docs/daemon.md).
type AlertDocument struct {
	Schema    string   `json:"schema"`
	Time      Time     `json:"time"`
	Host      string   `json:"host"`
	Simulated bool     `json:"simulated"`
	Alert     Alert    `json:"alert"`
	GPU       *GPU     `json:"gpu"`
	Process   *Process `json:"process"`
	// Dropped counts the alerts since the command last ran for which it was not
	// run: there were too many.
	Dropped int `json:"dropped"`
}

// AlertOf is an alert of a snapshot, with its GPU and its process as they are then.
func AlertOf(snap *snapshot.Snapshot, a *snapshot.Alert) AlertDocument {
	doc := AlertDocument{Schema: AlertVersion, Time: Time(snap.Time), Host: snap.Host.Name, Simulated: snap.Simulated, Alert: alertOf(a)}
	if g := snap.GPU(a.GPUUUID); g != nil {
		gpu := gpuOf(g)
		for p := range snap.GPURows(g.UUID) {
			gpu.Processes = append(gpu.Processes, processOf(p))
		}
		doc.GPU = &gpu
	}
	if p := snap.Row(a.Row); p != nil {
		process := processOf(p)
		doc.Process = &process
	}
	return doc
}
