package schema

import (
	"vramscope/guard/advice"
	"vramscope/sampler/snapshot"
)

// Advise is what `vramscope advise --format json` writes (docs/advice.md).
type Advise struct {
	Schema    string    `json:"schema"` // "vramscope/advise/1"
	Time      Time      `json:"time"`
	Host      string    `json:"host"`
	Simulated bool      `json:"simulated"`
	Since     Time      `json:"since"` // how far back the figures reach
	Processes []Advised `json:"processes"`
}

// Advised is a process on a GPU; it may need no advice.
type Advised struct {
	PID       int            `json:"pid"`
	StartTime Time           `json:"start_time"`
	User      Text           `json:"user"`
	Name      Text           `json:"name"`
	GPU       int            `json:"gpu"`
	UUID      string         `json:"uuid"`
	UsedBytes snapshot.Bytes `json:"used_bytes"`
	Probe     bool           `json:"probe"` // without one hardly anything is known
	Advice    []Advice       `json:"advice"`
}

// Advice is a setting or a change, best first.
type Advice struct {
	Rule    string         `json:"rule"`
	Text    Text           `json:"text"`
	Bytes   snapshot.Bytes `json:"bytes"`
	Setting Text           `json:"setting"`
	Price   Text           `json:"price"`
	Source  Text           `json:"source"`
}

// AdvisedOf is a row with its advice.
func AdvisedOf(snap *snapshot.Snapshot, p *snapshot.Process, all []advice.Advice) Advised {
	out := Advised{
		PID: p.ID.Process.PID, StartTime: Time(p.Started), User: Text(p.User), Name: Text(p.Name), GPU: p.GPU,
		UUID: snap.DeviceUUID(p.ID), UsedBytes: p.Used, Probe: p.Probe != nil, Advice: []Advice{},
	}
	for _, a := range all {
		out.Advice = append(out.Advice, Advice{string(a.Rule), Text(a.Text), a.Bytes, Text(a.Setting), Text(a.Price), Text(a.Source)})
	}
	return out
}
