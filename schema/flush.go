package schema

import (
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// FlushDocument is what `vramscope flush --format json` writes.
type FlushDocument struct {
	Head
	Flush Flush `json:"flush"`
}

type Flush struct {
	PID       int  `json:"pid"`
	StartTime Time `json:"start_time"`
	User      Text `json:"user"`
	Name      Text `json:"name"`
	Command   Text `json:"command"`
	Runtime   Text `json:"runtime"`

	Level     string  `json:"level"`
	DryRun    bool    `json:"dry_run"`
	Outcome   string  `json:"outcome"`
	Reason    Text    `json:"reason"`
	Notes     []Text  `json:"notes"`
	StepsDone int     `json:"steps_done"`
	Steps     int     `json:"steps"`
	TookMS    float64 `json:"ms"`

	ReturnableBytes quantity.Bytes `json:"returnable_bytes"`
	BeforeBytes     quantity.Bytes `json:"before_bytes"`
	AfterBytes      quantity.Bytes `json:"after_bytes"`
	FreedBytes      quantity.Bytes `json:"freed_bytes"`
	Devices         []FlushDevice  `json:"devices"`
}

// FlushDevice is a flush on one GPU or MIG instance.
type FlushDevice struct {
	GPU               snapshot.Int   `json:"gpu"`
	UUID              string         `json:"uuid"`
	BeforeBytes       quantity.Bytes `json:"before_bytes"`
	AfterBytes        quantity.Bytes `json:"after_bytes"`
	FreedBytes        quantity.Bytes `json:"freed_bytes"`
	CollectedBytes    snapshot.Bytes `json:"collected_bytes"`
	DriverOf          Text           `json:"driver_of"`
	DriverBeforeBytes snapshot.Bytes `json:"driver_before_bytes"`
	DriverAfterBytes  snapshot.Bytes `json:"driver_after_bytes"`
	DriverFreedBytes  snapshot.Bytes `json:"driver_freed_bytes"`
	TakenSinceBytes   snapshot.Bytes `json:"taken_since_bytes"`
}
