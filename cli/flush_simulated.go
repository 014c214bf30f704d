package cli

import (
	"context"
	"fmt"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/simulator"
)

// What a simulated flush takes: a driver takes about as long for each GiB.
const (
	simulatedFlushTime = 4 * time.Millisecond
	simulatedGiBTime   = 6 * time.Millisecond
)

// simulatedProbes flush the processes of a simulated box. Its programs are
// PyTorch's: they know no parts, and have registered nothing to evict.
type simulatedProbes struct{ *simulator.Box }

// Flush implements flush.Prober.
func (b *simulatedProbes) Flush(ctx context.Context, id process.Identity, request probe.FlushRequest) (probe.FlushResult, error) {
	result := probe.FlushResult{Level: request.Level, DryRun: request.DryRun}
	device, err := simulatedDevice(b.Box, id)
	if err != nil {
		return result, err
	}
	flushed := probe.Flushed{UUID: device.UUID}
	if request.DryRun {
		for i := range device.Allocators {
			a := &device.Allocators[i]
			flushed.BeforeBytes += *a.ReservedBytes
			flushed.AfterBytes += *a.ReservedBytes - *a.ReturnableBytes
		}
	} else {
		if flushed.BeforeBytes, flushed.AfterBytes, err = b.Box.Flush(id); err != nil {
			return result, err
		}
	}
	flushed.FreedBytes = flushed.BeforeBytes - flushed.AfterBytes
	took := simulatedFlushTime + simulatedGiBTime*time.Duration(flushed.FreedBytes/quantity.MiB)/1024
	select {
	case <-time.After(took):
	case <-ctx.Done():
	}
	result.Milliseconds = float64(took) / float64(time.Millisecond)
	result.Devices = []probe.Flushed{flushed}
	return result, nil
}

// simulatedDevice is what the probe of a simulated process says.
func simulatedDevice(box *simulator.Box, id process.Identity) (*probe.Device, error) {
	for _, a := range box.Answers() {
		switch {
		case a.Process == id && len(a.Report.Devices) > 0:
			return &a.Report.Devices[0], nil
		case a.Process.PID == id.PID:
			return nil, &process.Refusal{Reason: fmt.Sprintf("PID %d is another process now", id.PID)}
		}
	}
	return nil, &process.Refusal{Reason: fmt.Sprintf("PID %d has ended", id.PID)}
}
