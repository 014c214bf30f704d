package sources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"vramscope/action"
	"vramscope/cli/command"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// mapper asks a probe, real or simulated, for the memory map of its process on some devices, or on all.
type mapper func(ctx context.Context, id process.Identity, devices ...string) (probe.Segments, error)

// segmentsFrom asks real probes. Each map, which takes long, has a connection of its own, so that stats
// are read meanwhile.
func segmentsFrom(finder *probe.Finder) mapper {
	return func(ctx context.Context, id process.Identity, devices ...string) (probe.Segments, error) {
		client, err := finder.OpenProcess(id)
		if err != nil {
			return probe.Segments{}, err
		}
		defer func() { _ = client.Close() }() // the answer is complete
		return client.Segments(ctx, devices...)
	}
}

// identify finds the process with a PID; in a demo, a simulated process with a probe.
func (src *Set) identify(pid int) (process.Identity, error) {
	if src.Table == nil {
		for _, a := range src.Options.Probes.Answers() {
			if a.Process.PID == pid {
				return a.Process, nil
			}
		}
		return process.Identity{}, fmt.Errorf("PID %d: %w", pid, probe.ErrNoProbe)
	}
	id, err := src.Table.Identify(pid)
	if err != nil {
		err = &process.Refusal{Reason: fmt.Sprintf("there is no process %d in this /proc", pid)}
	}
	return id, err
}

// Connect connects to the probe of a process, and returns its Hello.
func (src *Set) Connect(ctx context.Context, pid int) (*probe.Client, probe.Hello, error) {
	id, err := src.identify(pid)
	if err != nil {
		return nil, probe.Hello{}, err
	}
	return connect(ctx, probe.NewFinder(src.Table), id)
}

func connect(ctx context.Context, finder *probe.Finder, id process.Identity) (*probe.Client, probe.Hello, error) {
	client, err := finder.OpenProcess(id)
	if err != nil {
		return nil, probe.Hello{}, err
	}
	hello, err := client.Hello(ctx)
	for i := 1; i < 5 && errors.Is(err, probe.ErrLate); i++ { // a busy machine can take a second
		hello, err = client.Hello(ctx)
	}
	if errors.Is(err, probe.ErrLate) {
		err = &process.Refusal{Reason: fmt.Sprintf("the probe of PID %d does not answer: a stopped process cannot", id.PID)}
	}
	if err != nil {
		_ = client.Close() // err says more
		return nil, probe.Hello{}, err
	}
	return client, hello, nil
}

// SegmentsAction returns the action of the key v, for one GPU of a process. It also asks for the
// process's MIG instances there, because a probe on an instance knows only the instance's UUID.
func (src *Set) SegmentsAction(latest func() *snapshot.Snapshot) func(context.Context, process.Identity, string) (snapshot.SegmentMap, error) {
	return func(ctx context.Context, id process.Identity, uuid string) (snapshot.SegmentMap, error) {
		snap := latest()
		devices := []string{uuid}
		for _, row := range action.Rows(snap, id) {
			if row.ID.GPUUUID == uuid {
				devices = append(devices, snap.DeviceUUID(row.ID))
			}
		}
		slices.Sort(devices)
		found, err := src.Segments(ctx, id, slices.Compact(devices)...)
		if err != nil {
			return snapshot.SegmentMap{}, unanswered(err, "no map of its memory")
		}
		out := mapOf(&found)
		if held, limit := out.Size(), usedOf(snap, id, uuid); held > limit+snapshot.Tolerance(limit) {
			return snapshot.SegmentMap{}, command.Fail("no map of its memory: its probe reports %s, the driver %s", held, limit)
		}
		return out, nil
	}
}

// unanswered returns why a probe has not answered.
func unanswered(err error, what string) error {
	reason := action.Reason(err)
	if errors.Is(err, probe.ErrLate) {
		reason = "no answer in time"
	}
	return &command.Failure{Code: command.ExitFailure, Err: err, Message: what + ": " + reason}
}

// usedOf returns the most that a process can hold on a GPU: its used memory or, if the driver
// does not report that, the GPU's used or total memory.
func usedOf(snap *snapshot.Snapshot, id process.Identity, uuid string) quantity.Bytes {
	var used quantity.Bytes
	known := false
	for _, row := range action.Rows(snap, id) {
		if v, ok := row.Used.Value(); ok && row.ID.GPUUUID == uuid {
			used, known = used+v, true
		}
	}
	if g := snap.GPU(uuid); !known && g != nil {
		return g.Memory.Used.Or(g.Memory.Total.Or(quantity.EiB))
	}
	if !known {
		return quantity.EiB
	}
	return used
}

// mapOf merges a probe's maps: MIG instances of one GPU share an address space.
func mapOf(found *probe.Segments) snapshot.SegmentMap {
	out := snapshot.SegmentMap{Time: time.Unix(0, found.TimeNS)}
	for i := range found.Devices {
		d := &found.Devices[i]
		out.Left += int(d.Left)
		out.Segments = append(out.Segments, d.Segments...)
	}
	sorted.Stable(out.Segments, func(a, b snapshot.Segment) int { return cmp.Compare(a.Address, b.Address) })
	return out
}
