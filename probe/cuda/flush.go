//go:build linux && cgo

package cuda

import (
	"context"
	"fmt"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/probe"
)

// What a flush may take: less than a monitor waits for one.
const (
	flushTime = 9 * time.Second
	lookTime  = 500 * time.Millisecond // for the last look, when that has run out
)

// moment is what is measured before and after a flush.
type moment struct {
	reserved quantity.Bytes // by all allocators
	cached   quantity.Bytes // of the pools: what they can give back at most
	free     quantity.Bytes // the driver's own figure, for the whole GPU
}

// Flush implements probe.Handler.
func (p *Process) Flush(ctx context.Context, request probe.FlushRequest) (probe.FlushResult, error) {
	result := probe.FlushResult{Level: request.Level, DryRun: request.DryRun}
	if len(request.Devices) > 0 && !slices.Contains(request.Devices, p.device.UUID) {
		result.SkippedReason = "this process uses " + p.device.UUID + " alone"
		return result, nil
	}
	started := p.clock()
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	before, err := p.measure(ctx)
	if err != nil {
		return result, refusal(err)
	}
	after := before
	if request.DryRun {
		after.reserved -= max(before.cached-request.KeepBytes, 0)
		if before.cached > 0 {
			result.Notes = append(result.Notes, "at most: how much is stuck between live blocks shows in the flush itself")
		}
	} else {
		// A release in steps is several requests, each with less to keep.
		if err := p.release(ctx, request.KeepBytes); err != nil {
			return result, refusal(err)
		}
		// Also when the time is up, what has been done is to be known.
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
		defer cancel()
		if after, err = p.measure(last); err != nil {
			return result, refusal(err)
		}
		result.Notes = append(result.Notes, fmt.Sprintf("free on the GPU by the driver: %s before, %s after", before.free, after.free))
		p.note(before.reserved - after.reserved)
	}
	if request.Level == probe.Selective {
		result.Notes = append(result.Notes, "nothing evictable is registered here: the ordinary flush")
	}
	result.Devices = []probe.Flushed{{
		UUID:        p.device.UUID,
		BeforeBytes: before.reserved, AfterBytes: after.reserved, FreedBytes: before.reserved - after.reserved,
	}}
	result.Milliseconds = float64(p.clock().Sub(started)) / float64(time.Millisecond)
	return result, nil
}

// release gives memory back down to what may be kept.
func (p *Process) release(ctx context.Context, keep quantity.Bytes) error {
	_, err := on(ctx, p.thread, "flush", func() (struct{}, error) { return struct{}{}, p.holding.trim(keep) })
	return err
}

func (p *Process) measure(ctx context.Context) (moment, error) {
	return on(ctx, p.thread, "measure", func() (moment, error) {
		reserved, err := p.holding.reserved()
		if err != nil {
			return moment{}, err
		}
		m := moment{reserved: reserved}
		for _, pool := range p.holding.pools {
			b, err := pool.poolStats()
			if err != nil {
				return moment{}, err
			}
			m.cached += b.cached()
		}
		m.free, err = p.holding.device.free()
		return m, err
	})
}

// note counts a flush.
func (p *Process) note(freed quantity.Bytes) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.newest.Flushes++
	p.newest.Flushed += max(freed, 0)
}

// trim runs on the thread. Frees count only after a synchronisation. What a
// pool has left after it had to give all it could is fragmented: that is how
// it becomes known.
func (h *holding) trim(keep quantity.Bytes) error {
	if err := h.device.synchronize(); err != nil {
		return err
	}
	for _, p := range h.pools {
		b, err := p.poolStats()
		if err != nil {
			return err
		}
		if keep > 0 {
			// Fragmented memory stays anyhow: it is not part of what may be kept.
			if err := p.trim(b.used + b.fragmented().Or(0) + keep); err != nil {
				return err
			}
			continue
		}
		if err := p.trim(0); err != nil {
			return err
		}
		if b, err = p.poolStats(); err != nil {
			return err
		}
		p.residue = quantity.From(b.idle(), quantity.Computed)
	}
	if keep > 0 {
		return nil
	}
	return h.device.trimGraphs()
}
