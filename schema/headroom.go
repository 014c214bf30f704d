package schema

import (
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// HeadroomDocument is what `vramscope headroom --format json` writes (docs/headroom.md).
type HeadroomDocument struct {
	Head
	Headroom Headroom `json:"headroom"`
}

// Headroom is the question and its answer.
type Headroom struct {
	NeedBytes      quantity.Bytes `json:"need_bytes"`
	Count          int            `json:"count"`
	ForSeconds     *float64       `json:"for_seconds"`
	WatchedSeconds *float64       `json:"watched_seconds"`
	WaitSeconds    *float64       `json:"wait_seconds"`
	WaitedSeconds  *float64       `json:"waited_seconds"`
	Answer         string         `json:"answer"`
	Places         []Place        `json:"places"`
}

// Place is the answer for one GPU or MIG instance.
type Place struct {
	GPU             int     `json:"gpu"`
	GPUInstance     *uint32 `json:"gpu_instance"`
	ComputeInstance *uint32 `json:"compute_instance"`
	UUID            string  `json:"uuid"`
	Name            Text    `json:"name"`
	Profile         Text    `json:"profile"`
	State           string  `json:"state"`
	Verdict         string  `json:"verdict"`
	Reason          Text    `json:"reason"`

	FreeBytes         snapshot.Bytes `json:"free_bytes"`
	ReturnableBytes   snapshot.Bytes `json:"returnable_bytes"`
	ReturnableIsExact bool           `json:"returnable_is_exact"`
	StayingBytes      snapshot.Bytes `json:"staying_bytes"`
	ShortBytes        snapshot.Bytes `json:"short_bytes"`
	LowPoint          *LowPoint      `json:"low_point"`
	FullIn            *FullIn        `json:"full_in"`
	Flushable         []Flushable    `json:"flushable"`
}

// LowPoint is the forecast of the least free memory.
type LowPoint struct {
	MedianBytes  quantity.Bytes `json:"median_bytes"`
	Lower80Bytes quantity.Bytes `json:"lower80_bytes"`
	Upper80Bytes quantity.Bytes `json:"upper80_bytes"`
}

// Flushable is a process whose flush would free memory.
type Flushable struct {
	PID             int            `json:"pid"`
	StartTime       Time           `json:"start_time"`
	User            Text           `json:"user"`
	Name            Text           `json:"name"`
	ReturnableBytes quantity.Bytes `json:"returnable_bytes"`
	StayingBytes    quantity.Bytes `json:"staying_bytes"`
	EvictableBytes  snapshot.Bytes `json:"evictable_bytes"`
}
