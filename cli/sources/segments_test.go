package sources

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
)

// demoSources returns the sources of the demo at its beginning.
func demoSources(t *testing.T) (*Set, *sampler.Sampler) {
	t.Helper()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := func() time.Time { return now }
	box := simulator.New(simulator.Options{Clock: clock})
	src := &Set{Options: sampler.Options{Devices: box, Probes: box, Processes: box, Simulated: true, Clock: clock, Deadline: time.Minute}, Segments: simulatedSegments(box), holds: simulatedHolds(box)}
	sampling := sampler.New(src.Options)
	sampling.Tick(now)
	return src, sampling
}

// TestMapIsOfTheRowsDevice: the figures of a row and the sums of its map are the same, also on a
// MIG instance.
func TestMapIsOfTheRowsDevice(t *testing.T) {
	src, sampling := demoSources(t)
	ask := src.SegmentsAction(sampling.Latest)
	maps, instances := 0, 0
	for _, row := range sampling.Latest().Rows {
		if row.Probe == nil || row.Runtime != "PyTorch" {
			continue
		}
		found, err := ask(context.Background(), row.ID.Process, row.ID.GPUUUID)
		if err != nil {
			t.Errorf("PID %d: %v", row.ID.Process.PID, err)
			continue
		}
		var sums [snapshot.BlockFragmented + 1]quantity.Bytes
		for i := range found.Segments {
			for _, b := range found.Segments[i].Blocks {
				sums[b.State] += b.Size
			}
		}
		if sums[snapshot.BlockLive]+sums[snapshot.BlockPending] != row.Allocated.Or(-1) || sums[snapshot.BlockCached] != row.Returnable.Or(-1) ||
			sums[snapshot.BlockFragmented] != row.Unreturnable().Or(-1) || !found.Time.Equal(sampling.Latest().Time) {
			t.Errorf("PID %d: %v, the row has %+v", row.ID.Process.PID, sums, row)
		}
		maps++
		if row.ID.Instance.MIG {
			instances++
		}
	}
	if maps < 4 || instances == 0 {
		t.Errorf("%d rows have a map, %d of them on an instance", maps, instances)
	}
}

func TestReasonsForNoMap(t *testing.T) {
	src, sampling := demoSources(t)
	ask := src.SegmentsAction(sampling.Latest)
	for _, row := range sampling.Latest().Rows {
		if row.Runtime != "JAX" {
			continue
		}
		_, err := ask(context.Background(), row.ID.Process, row.ID.GPUUUID)
		if err == nil || !strings.HasPrefix(err.Error(), "no map of its memory: only PyTorch ") {
			t.Errorf("of JAX: %v", err)
		}
	}
	for reason, given := range map[string]error{
		"no map of its memory: no answer in time":             probe.ErrLate,
		"no map of its memory: PID 7 has ended":               &process.Refusal{Reason: "PID 7 has ended"},
		"no map of its memory: its 9 blocks would hold it up": &probe.Error{Code: probe.Unsupported, Message: "its 9 blocks would hold it up"},
		"no map of its memory: " + probe.ErrNoProbe.Error():   probe.ErrNoProbe,
	} {
		src.Segments = func(context.Context, process.Identity, ...string) (probe.Segments, error) {
			return probe.Segments{}, given
		}
		_, err := src.SegmentsAction(sampling.Latest)(context.Background(), process.Identity{PID: 7}, "GPU-1")
		if err == nil || err.Error() != reason {
			t.Errorf("%v, want %s", err, reason)
		}
		if !errors.Is(err, given) && !strings.Contains(reason, "in time") {
			t.Errorf("%v has lost its cause", err)
		}
	}
}

// TestImpossibleMapsAreRefused: a map must not have more memory than the driver reports for the
// process.
func TestImpossibleMapsAreRefused(t *testing.T) {
	src, sampling := demoSources(t)
	snap := sampling.Latest()
	row := &snap.Rows[slices.IndexFunc(snap.Rows, func(p snapshot.Process) bool { return p.Runtime == "PyTorch" && p.Used.Known() })]
	for _, c := range []struct {
		size  quantity.Bytes
		many  int
		shown bool
	}{{row.Used.Or(0), 1, true}, {row.Used.Or(0) / 2, 3, false}, {quantity.PiB, probe.MaxSegments, false}} {
		segments := slices.Repeat([]probe.Segment{{Address: 1, Size: c.size, Blocks: []probe.Block{{Size: c.size, State: probe.BlockCached}}}}, c.many)
		src.Segments = func(context.Context, process.Identity, ...string) (probe.Segments, error) {
			return probe.Segments{Devices: []probe.DeviceSegments{{UUID: row.ID.GPUUUID, Segments: segments}}}, nil
		}
		_, err := src.SegmentsAction(sampling.Latest)(context.Background(), row.ID.Process, row.ID.GPUUUID)
		if (err == nil) != c.shown || err != nil && !strings.HasPrefix(err.Error(), "no map of its memory: its probe reports ") {
			t.Errorf("%d segments of %v where %v are used: %v", c.many, c.size, row.Used.Or(0), err)
		}
	}
}

// TestHoldersAreOfTheRowsDevice: the figure of a row and the sum of its holders are the same, also
// on a MIG instance; more than the driver reports is refused.
func TestHoldersAreOfTheRowsDevice(t *testing.T) {
	src, sampling := demoSources(t)
	ask, rows := src.HoldersAction(sampling.Latest), 0
	for _, row := range sampling.Latest().Rows {
		if row.Probe == nil || row.Runtime != "PyTorch" {
			continue
		}
		found, err := ask(t.Context(), row.ID.Process, sampling.Latest().DeviceUUID(row.ID))
		var sum quantity.Bytes
		for _, class := range found.Classes {
			sum += class.Bytes
		}
		if err != nil || sum != row.Allocated.Or(-1) || found.Allocated != sum || !found.Time.Equal(sampling.Latest().Time) {
			t.Errorf("PID %d: %v, %+v, the row has %s", row.ID.Process.PID, err, found, row.Allocated.Or(-1))
		}
		if rows++; rows > 1 {
			continue
		}
		honest := src.holds
		src.holds = func(ctx context.Context, id process.Identity) (Held, error) {
			lie, err := honest(ctx, id)
			lie.Devices[0].AllocatedBytes = 100 << 30
			return lie, err
		}
		if _, err := ask(t.Context(), row.ID.Process, ""); err == nil || !strings.Contains(err.Error(), "its probe reports 100G on") {
			t.Errorf("PID %d lies: %v", row.ID.Process.PID, err)
		}
		src.holds = honest
	}
	if rows < 5 {
		t.Errorf("%d rows", rows)
	}
}
