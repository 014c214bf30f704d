package alert

import (
	"slices"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// scene is a box that a test changes between snapshots, one a second.
type scene struct {
	evaluator *Evaluator
	now       time.Time
	snap      snapshot.Snapshot
	standing  []snapshot.Alert
	stands    bool // ticks repeat the last forecast and make no new forecast
}

// newScene makes a scene of two idle GPUs of 79 GiB capacity with one old process each: PID 100 of
// alice and PID 101 of bob.
func newScene() *scene {
	s := &scene{evaluator: New(0.10, nil), now: noon}
	s.snap.Driver.State = snapshot.DriverOK
	for i, user := range []string{"alice", "bob"} {
		uuid := []string{"GPU-0", "GPU-1"}[i]
		s.snap.GPUs = append(s.snap.GPUs, snapshot.GPU{
			Index: i, UUID: uuid, State: snapshot.GPUOK,
			Memory: snapshot.Memory{Total: bytes(80 * quantity.GiB), Reserved: bytes(quantity.GiB)},
		})
		s.snap.Rows = append(s.snap.Rows, snapshot.Process{
			ID: snapshot.RowID{
				Process: process.Identity{PID: 100 + i, StartTime: 1, Namespace: 1}, GPUUUID: uuid,
			},
			GPU: i, User: user, Started: noon.Add(-time.Hour),
			Probe: &snapshot.Probe{State: snapshot.ProbeLive, OutOfMemoryCount: count(0), AllocRetries: count(0)},
		})
		s.use(i, 10*quantity.GiB)
	}
	return s
}

func bytes(b quantity.Bytes) snapshot.Bytes       { return quantity.From(b, quantity.Driver) }
func count(n int64) quantity.Optional[int64]      { return quantity.From(n, quantity.Probe) }
func errors(n uint64) quantity.Optional[uint64]   { return quantity.From(n, quantity.Driver) }
func (s *scene) gpu(i int) *snapshot.GPU          { return &s.snap.GPUs[i] }
func (s *scene) row(i int) *snapshot.Process      { return &s.snap.Rows[i] }
func (s *scene) has(kind snapshot.AlertKind) bool { return s.alert(kind) != nil }

// use sets the used memory of process i and of its GPU.
func (s *scene) use(i int, used quantity.Bytes) {
	s.row(i).Used = bytes(used)
	m := &s.gpu(i).Memory
	m.Used = bytes(used)
	m.Free = bytes(79*quantity.GiB - used)
}

func (s *scene) alert(kind snapshot.AlertKind) *snapshot.Alert {
	for i := range s.standing {
		if s.standing[i].Kind == kind {
			return &s.standing[i]
		}
	}
	return nil
}

// tick passes the evaluator a copy of the scene, with new forecasts.
func (s *scene) tick() []snapshot.Alert {
	snap := s.snap
	snap.Time = s.now
	snap.GPUs = slices.Clone(s.snap.GPUs)
	snap.Rows = slices.Clone(s.snap.Rows)
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		g.FullIn = s.made(g.FullIn)
		g.Instances = slices.Clone(g.Instances)
		for j := range g.Instances {
			g.Instances[j].FullIn = s.made(g.Instances[j].FullIn)
		}
	}
	for i := range snap.Rows {
		if p := snap.Rows[i].Probe; p != nil {
			probe := *p
			snap.Rows[i].Probe = &probe
		}
	}
	s.standing = s.evaluator.Evaluate(&snap)
	s.now = s.now.Add(time.Second)
	return s.standing
}

// made returns a forecast with the time at which it was made: now or, if the scene's forecasts
// stand, the time at which made first saw it.
func (s *scene) made(full *snapshot.FullIn) *snapshot.FullIn {
	if full == nil || s.stands && !full.Made.IsZero() {
		return full
	}
	if s.stands {
		full.Made = s.now
		return full
	}
	anew := *full
	anew.Made = s.now
	return &anew
}

func (s *scene) ticks(n int) {
	for range n {
		s.tick()
	}
}

// until ticks while step changes the scene. It returns the first second in which an alert of the kind
// stood, −1 if there was none.
func (s *scene) until(kind snapshot.AlertKind, seconds int, step func(second int)) int {
	for i := range seconds {
		if step != nil {
			step(i)
		}
		s.tick()
		if s.has(kind) {
			return i
		}
	}
	return -1
}

func (s *scene) expect(t *testing.T, kind snapshot.AlertKind, want snapshot.Alert) {
	t.Helper()
	got := s.alert(kind)
	if got == nil {
		t.Fatalf("no %s alert", kind)
	}
	want.Kind, want.GPUUUID = kind, got.GPUUUID
	if *got != want {
		t.Errorf("got\n%+v\nwant\n%+v", *got, want)
	}
}

func (s *scene) calm(t *testing.T, when string) {
	t.Helper()
	if len(s.standing) > 0 {
		t.Errorf("%s: %+v", when, s.standing)
	}
}
