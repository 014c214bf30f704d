package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"vramscope/action"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// mapper asks one process where its memory lies: a real probe, or a simulated
// one.
type mapper func(ctx context.Context, id process.Identity, devices ...string) (probe.Segments, error)

// segmentsFrom asks real probes, each on a connection of its own: a map takes
// its time, and the books are read meanwhile.
func segmentsFrom(finder *probe.Finder) mapper {
	return func(ctx context.Context, id process.Identity, devices ...string) (probe.Segments, error) {
		client, err := finder.OpenProcess(id)
		if err != nil {
			return probe.Segments{}, err
		}
		defer func() { _ = client.Close() }() // all has been said
		return client.Segments(ctx, devices...)
	}
}

// segmentsAction binds the key v. The device is named by the GPU's UUID, as in
// a row; a probe on a MIG instance knows that instance's.
func (src *sources) segmentsAction(latest func() *snapshot.Snapshot) func(context.Context, process.Identity, string) (snapshot.SegmentMap, error) {
	return func(ctx context.Context, id process.Identity, uuid string) (snapshot.SegmentMap, error) {
		snap := latest()
		devices := []string{uuid}
		for _, row := range action.Rows(snap, id) {
			if row.ID.GPUUUID == uuid {
				devices = append(devices, snap.DeviceUUID(row.ID))
			}
		}
		slices.Sort(devices)
		found, err := src.segments(ctx, id, slices.Compact(devices)...)
		if err != nil {
			return snapshot.SegmentMap{}, fmt.Errorf("no map of its memory: %w", segmentsFailure(err))
		}
		return mapOf(&found), nil
	}
}

// segmentsFailure says in a probe's own words why there is no map.
func segmentsFailure(err error) error {
	if errors.Is(err, probe.ErrLate) {
		return errNoMapInTime
	}
	return &worded{words: action.Reason(err), err: err}
}

var errNoMapInTime = errors.New("it did not come in time")

// worded is an error in the words that are for people.
type worded struct {
	words string
	err   error
}

// Error implements error.
func (w *worded) Error() string { return w.words }

// Unwrap gives the cause.
func (w *worded) Unwrap() error { return w.err }

// mapOf puts a map into the snapshot's words. Where a process has several MIG
// instances of one GPU, they lie in one address space.
func mapOf(found *probe.Segments) snapshot.SegmentMap {
	out := snapshot.SegmentMap{Time: time.Unix(0, found.TimeNS)}
	for i := range found.Devices {
		d := &found.Devices[i]
		out.Left += int(d.Left)
		for j := range d.Segments {
			out.Segments = append(out.Segments, segmentOf(&d.Segments[j]))
		}
	}
	slices.SortStableFunc(out.Segments, func(a, b snapshot.Segment) int {
		switch {
		case a.Address < b.Address:
			return -1
		case a.Address > b.Address:
			return 1
		}
		return 0
	})
	return out
}

func segmentOf(s *probe.Segment) snapshot.Segment {
	out := snapshot.Segment{
		Address: s.Address, Size: s.Size, Pool: s.Pool, Stream: s.Stream, Private: s.Private, Expandable: s.Expandable,
		Blocks: make([]snapshot.Block, len(s.Blocks)),
	}
	for i, b := range s.Blocks {
		out.Blocks[i] = snapshot.Block{Size: b.Size, State: blockState(b.State)}
	}
	return out
}

// blockState is a block's state; the protocol has no others.
func blockState(state probe.BlockState) snapshot.BlockState {
	switch state {
	case probe.BlockPending:
		return snapshot.BlockPending
	case probe.BlockCached:
		return snapshot.BlockCached
	case probe.BlockFragmented:
		return snapshot.BlockFragmented
	default:
		return snapshot.BlockLive
	}
}

// sizeOf is a number of bytes for people.
func sizeOf(bytes int64) string { return quantity.Bytes(bytes).String() }
