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

// The time limits of a flush, together less than a monitor waits.
const (
	flushTime = 9 * time.Second
	lastTime  = 500 * time.Millisecond // for the last measurement after it
)

// moment is a measurement before or after a flush.
type moment struct {
	reserved quantity.Bytes // by all allocators
	cached   quantity.Bytes // of the pool: the most that it can free
	free     quantity.Bytes // on the GPU, from the driver
}

// Flush implements probe.Handler.
func (p *Process) Flush(ctx context.Context, request probe.FlushRequest) (probe.FlushResult, error) {
	result := probe.FlushResult{Level: request.Level, DryRun: request.DryRun}
	if len(request.Devices) > 0 && !slices.Contains(request.Devices, p.device.UUID) {
		result.SkippedReason = "this process uses only " + p.device.UUID
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
			result.Notes = append(result.Notes, "at most: only the flush shows how much is fragmented")
		}
	} else {
		if err := p.release(ctx, request.KeepBytes); err != nil {
			return result, refusal(err)
		}
		// Measured after a timeout too: the flush may have freed something.
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTime)
		defer cancel()
		if after, err = p.measure(last); err != nil {
			return result, refusal(err)
		}
		result.Notes = append(result.Notes, fmt.Sprintf("free on the GPU by the driver: %s before, %s after", before.free, after.free))
		p.note(before.reserved - after.reserved)
	}
	if request.Level == probe.Selective {
		result.Notes = append(result.Notes, "no evictable caches are registered: flushed the allocators only")
	}
	result.Devices = []probe.Flushed{{
		UUID:        p.device.UUID,
		BeforeBytes: before.reserved, AfterBytes: after.reserved, FreedBytes: before.reserved - after.reserved,
	}}
	result.Milliseconds = float64(p.clock().Sub(started)) / float64(time.Millisecond)
	return result, nil
}

// release flushes down to what may be kept.
func (p *Process) release(ctx context.Context, keep quantity.Bytes) error {
	_, err := on(ctx, p.thread, "flush", func() (struct{}, error) { return struct{}{}, p.holding.trim(keep) })
	return err
}

func (p *Process) measure(ctx context.Context) (moment, error) {
	return on(ctx, p.thread, "measure", func() (moment, error) {
		b, err := p.holding.pool.stats()
		if err != nil {
			return moment{}, err
		}
		m := moment{reserved: p.holding.rawBytes + b.reserved, cached: b.cached()}
		m.free, err = p.holding.device.free()
		return m, err
	})
}

// note counts a flush in the figures.
func (p *Process) note(freed quantity.Bytes) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.newest.Flushes++
	p.newest.Flushed += max(freed, 0)
}

// trim runs on the thread. Frees count only after a synchronisation. The unused
// memory that the pool has after a full trim is fragmented.
func (h *holding) trim(keep quantity.Bytes) error {
	if err := h.device.synchronize(); err != nil {
		return err
	}
	b, err := h.pool.stats()
	if err != nil {
		return err
	}
	if keep > 0 {
		// Fragmented memory stays anyway and does not count as kept.
		return h.pool.trim(b.used + b.fragmented().Or(0) + keep)
	}
	if err := h.pool.trim(0); err != nil {
		return err
	}
	if b, err = h.pool.stats(); err != nil {
		return err
	}
	h.pool.residue = quantity.From(b.idle(), quantity.Computed)
	return nil
}
