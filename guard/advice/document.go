package advice

import (
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// Document is what `vramscope advise --format json` writes (docs/advice.md).
type Document struct {
	Schema    string      `json:"schema"` // "vramscope/advise/1"
	Time      schema.Time `json:"time"`
	Host      string      `json:"host"`
	Simulated bool        `json:"simulated"`
	Since     schema.Time `json:"since"` // how far back the figures reach
	Processes []Advised   `json:"processes"`
}

// Advised is a process on a GPU, with its advice, best first.
type Advised struct {
	PID       int              `json:"pid"`
	StartTime schema.Time      `json:"start_time"`
	User      schema.Text      `json:"user"`
	Name      schema.Text      `json:"name"`
	GPU       int              `json:"gpu"`
	UUID      string           `json:"uuid"`
	UsedBytes snapshot.Bytes   `json:"used_bytes"`
	Probe     bool             `json:"probe"` // whether it has a probe: without one hardly anything is known
	Advice    []DocumentAdvice `json:"advice"`
}

// DocumentAdvice is a setting or a change.
type DocumentAdvice struct {
	Rule    string         `json:"rule"`
	Text    schema.Text    `json:"text"`
	Bytes   snapshot.Bytes `json:"bytes"`
	Setting schema.Text    `json:"setting"`
	Price   schema.Text    `json:"price"`
	Source  schema.Text    `json:"source"`
}

// AdvisedOf describes a row with its advice.
func AdvisedOf(snap *snapshot.Snapshot, p *snapshot.Process, all []Advice) Advised {
	return Advised{
		PID: p.ID.Process.PID, StartTime: schema.Time(p.Started), User: schema.Text(p.User), Name: schema.Text(p.Name), GPU: p.GPU,
		UUID: snap.DeviceUUID(p.ID), UsedBytes: p.Used, Probe: p.Probe != nil,
		Advice: schema.List(all, func(a *Advice) DocumentAdvice {
			return DocumentAdvice{string(a.Rule), schema.Text(a.Text), a.Bytes, schema.Text(a.Setting), schema.Text(a.Price), schema.Text(a.Source)}
		}),
	}
}
