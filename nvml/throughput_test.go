//go:build linux && cgo

package nvml

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestReadingPanicsWithTheStackOfTheMeasurement(t *testing.T) {
	r := reading{Library: New(Options{}), gpu: &gpu{}, lib: &loaded{symbols: make(symbolSet, len(symbols))}}
	r.lib.symbols[symPCIeThroughput] = true
	r.gate.open = true
	r.started = time.Now()
	r.readThroughput() // measures on another goroutine, without a handle
	defer func() {
		if value := fmt.Sprint(recover()); !strings.Contains(value, "(*throughput).measure") {
			t.Errorf("the next reading panics with %s, want the stack of the measurement", value)
		}
		if _, err := r.gate.begin(); err != nil {
			t.Errorf("the library cannot be closed: %v", err)
		}
	}()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		r.readThroughput()
	}
}
