package snapshot

import (
	"testing"

	"vramscope/internal/quantity"
	"vramscope/metric"
)

func TestStateWord(t *testing.T) {
	warm := metric.Sensors{Temperature: quantity.From(40, quantity.Driver)}
	for want, g := range map[string]GPU{
		"ok":          {State: GPUOK, Sensors: warm},
		"unknown":     {State: GPUOK},
		"lost":        {State: GPULost, Message: "ERROR_GPU_IS_LOST"},
		"off the bus": {State: GPULost, Message: "ERROR_GPU_IS_LOST", XIDs: []XID{{Code: 31}, {Code: 79}}},
		"not listed":  {State: GPULost, Message: NotListed},
		"hanging":     {State: GPUHanging},
		"error":       {State: GPUError},
	} {
		if got := g.StateWord(); got != want {
			t.Errorf("%+v is %q, want %q", g, got, want)
		}
	}
}
