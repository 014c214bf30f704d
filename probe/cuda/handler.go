//go:build linux && cgo

package cuda

import (
	"context"
	"errors"
	"io"
	"time"

	"vramscope/probe"
)

// timeout limits the wait for the thread, to less than a monitor waits for stats.
const timeout = 150 * time.Millisecond

var _ probe.Handler = (*Process)(nil)

// Hello implements probe.Handler.
func (p *Process) Hello() probe.Hello {
	return probe.Hello{
		Runtimes:     []probe.Runtime{{Name: "CUDA", Version: p.version}},
		Capabilities: []string{"flush"},
	}
}

// Stats implements probe.Handler.
func (p *Process) Stats(ctx context.Context) (probe.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	report, err := on(ctx, p.thread, "read the stats", func() (probe.Report, error) {
		allocators, err := p.holding.report()
		return probe.Report{
			TimeNS:  p.clock().UnixNano(),
			Devices: []probe.Device{{UUID: p.device.UUID, TotalBytes: new(p.device.Total), Allocators: allocators}},
		}, err
	})
	return report, refusal(err)
}

// Snapshot implements probe.Handler. The driver does not report the addresses of a
// pool's blocks.
func (p *Process) Snapshot(context.Context, probe.SnapshotRequest, io.Writer) (probe.SnapshotResult, error) {
	return probe.SnapshotResult{}, &probe.Error{Code: probe.Unsupported, Message: "a CUDA pool does not report the addresses of its blocks"}
}

// refusal turns ErrBusy into a refusal: it is not a failure of the probe.
func refusal(err error) error {
	if errors.Is(err, ErrBusy) {
		return &probe.Error{Code: probe.Busy, Message: "a call in the driver has not returned"}
	}
	return err
}

// report runs on the thread.
func (h *holding) report() ([]probe.Allocator, error) {
	b, err := h.pool.stats()
	if err != nil {
		return nil, err
	}
	own := b.report(h.pool.identity())
	own.OutOfMemoryCount = new(h.figures.OutOfMemory)
	return []probe.Allocator{own, reportRaw(h.rawBytes, len(h.raw))}, nil
}
