package ui

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/segments"
	"vramscope/ui/uitest"
)

// segmentAnswers fakes Actions.Segments.
type segmentAnswers struct {
	mu    sync.Mutex
	asked []string // device of each request
	pids  []int
	found snapshot.SegmentMap
	err   error
}

func (s *segmentAnswers) segments(_ context.Context, id process.Identity, device string) (snapshot.SegmentMap, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.pids = append(s.asked, device), append(s.pids, id.PID)
	return s.found, s.err
}

func (s *segmentAnswers) times() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// newMapModel returns a model on the drawn box with v bound, on the detail of the leaking process.
func newMapModel(t *testing.T) (*flushModel, *segmentAnswers) {
	t.Helper()
	s := &segmentAnswers{found: uitest.CarolsSegments()}
	m := newFlushModel(t, func(box *snapshot.Snapshot, o *Options) {
		*box = *fullStats()
		for i := range box.Rows {
			if p := &box.Rows[i]; p.ID.Process.PID == 3000417 {
				p.Probe.Capabilities = []string{"snapshot"}
			}
		}
		o.Actions.Segments = s.segments
	})
	s.found.Time = m.now
	m.onto(snapshottest.Leaking).key("enter")
	return m, s
}

func TestVShowsTheMapAndVTheGraph(t *testing.T) {
	m, s := newMapModel(t)
	m.shows("v map")
	m.shows("── used, ")
	m.key("v")
	m.until("more is fragmented")
	m.shows("v graph")
	m.shows("r: again")
	m.hides("── used, ")
	m.shows(" frag         ×212")
	if s.times() != 1 || s.pids[0] != snapshottest.Leaking || s.asked[0] != m.st.live.GPUs[3].UUID {
		t.Errorf("it asked %v for %v", s.pids, s.asked)
	}
	// The map shows how old it is, and the probe is not asked again by itself.
	then := *m.st.live
	then.Time = then.Time.Add(time.Minute)
	m.tick(&then)
	m.shows("812 segments, 1m00s ago")
	if s.times() != 1 {
		t.Error("it asks each second")
	}
	m.key("r")
	m.shows("asking")
	m.until("r: again")
	for s.times() < 2 {
		time.Sleep(time.Millisecond)
	}
	m.key("v")
	m.shows("── used, ")
	m.shows("v map")
	m.key("v", "esc")
	m.shows("── used, ")
	if !m.st.detail {
		t.Error("Esc closes the detail together with the map")
	}
}

func TestVSaysWhyThereIsNoMap(t *testing.T) {
	for _, c := range []struct {
		pid  int
		want string
	}{
		{snapshottest.Probeme, "has no probe: only a probe can report its segments"},
		{2955020, "its probe cannot report its segments"},
		{2961877, "it has exited"},
	} {
		m, s := newMapModel(t)
		m.onto(c.pid).draw()
		m.hides("v map")
		m.key("v")
		m.shows(c.want)
		if s.times() != 0 || m.st.inside != nil {
			t.Errorf("%d is asked", c.pid)
		}
	}
	t.Run("past", func(t *testing.T) {
		m, s := newMapModel(t)
		m.st.past = m.now.Add(-time.Minute)
		m.key("v")
		m.shows("the map is of now")
		if s.times() != 0 {
			t.Error("it is asked")
		}
	})
	t.Run("back in time", func(t *testing.T) {
		m, _ := newMapModel(t)
		m.key("v")
		m.until("more is fragmented")
		m.key(",")
		m.shows("── used, ")
		m.hides("more is fragmented")
	})
	t.Run("refused", func(t *testing.T) {
		m, s := newMapModel(t)
		s.err = errors.New("probe: snapshot: \x1b[2Jbusy")
		m.key("v")
		m.until("probe: snapshot: ?[2Jbusy")
		// An existing map stays if a new one cannot be got.
		s.err = nil
		m.key("r")
		m.until("more is fragmented")
		s.err = errors.New("probe: too late")
		m.key("r")
		m.until("probe: too late")
		m.shows("more is fragmented")
	})
}

// TestTheMapFollowsTheCursor: the map shows the process under the cursor, or the screen says why there is no map.
func TestTheMapFollowsTheCursor(t *testing.T) {
	m, s := newMapModel(t)
	m.key("v")
	m.until("more is fragmented")
	m.onto(3000417)
	m.run(m.followInside())
	m.until("PID 3000417")
	m.until("more is fragmented")
	if s.times() != 2 || s.asked[1] != m.st.live.GPUs[5].Instances[0].UUID {
		t.Errorf("it asked %v", s.asked)
	}
	m.onto(snapshottest.Probeme)
	m.run(m.followInside())
	m.until("has no probe: only a probe can report")
	// Holding j down asks no probe on the way.
	for range 5 {
		m.key("k")
	}
	m.onto(3000417)
	late := m.insideAsked
	m.run(m.followInside())
	if changed, _ := m.update(insideDueMsg{late}); changed {
		t.Error("a process that the cursor has left is asked")
	}
}

// TestMapKeysWithoutAMap: when the process has ended, the keys of its map break nothing.
func TestMapKeysWithoutAMap(t *testing.T) {
	box := snapshottest.DrawnBox()
	for i := range box.Rows {
		if p := box.Rows[i].Probe; p != nil {
			p.Capabilities = []string{"snapshot"}
		}
	}
	m := newTestModel(t, box, func(o *Options) {
		o.Actions.Segments = func(context.Context, process.Identity, string) (snapshot.SegmentMap, error) {
			return uitest.CarolsSegments(), nil
		}
	})
	m.press("j", "enter", "v")
	m.send(insideMsg{request: m.st.inside.request, show: func(i *inside) { i.Map = segments.New(uitest.CarolsSegments()) }})
	if m.st.inside.Map == nil {
		t.Fatal("no map")
	}
	gone := *box
	gone.Rows, gone.Ended = nil, nil
	m.Update(snapshotMsg{&gone})
	for _, key := range []string{"z", "end", "home", "pgdown"} {
		m.Update(keyNamed(key))
	}
	m.check()
}

// newHoldersModel returns a model on the detail of the leaking process with V bound; each answer waits for release.
func newHoldersModel(t *testing.T) (m *flushModel, asked *atomic.Int32, release chan error) {
	t.Helper()
	asked, release = &atomic.Int32{}, make(chan error, 9)
	m = newFlushModel(t, func(box *snapshot.Snapshot, o *Options) {
		*box = *fullStats()
		for i := range box.Rows {
			switch p := &box.Rows[i]; p.ID.Process.PID {
			case snapshottest.Leaking:
				p.Probe.Capabilities = []string{"holds"}
			case 3000417:
				p.Probe.Capabilities, p.Probe.ByDaemon = []string{"holds"}, true
			}
		}
		o.Actions.Segments = (&segmentAnswers{}).segments // the key r needs it
		o.Actions.Holders = func(_ context.Context, _ process.Identity, device string) (snapshot.Held, error) {
			asked.Add(1)
			err := <-release
			return snapshot.Held{Time: box.Time, Allocated: 53 << 30, Classes: []snapshot.HeldClass{
				{Class: "optimizer_state", Bytes: 16 << 30}, {Class: "unnamed", Bytes: 37 << 30},
			}}, err
		}
	})
	m.onto(snapshottest.Leaking).key("enter")
	return m, asked, release
}

// TestVShowsWhatHoldsTheMemory: only V and r ask the probe, and the screen says what the answer waits for.
func TestVShowsWhatHoldsTheMemory(t *testing.T) {
	m, asked, release := newHoldersModel(t)
	m.shows("V holders")
	m.key("V")
	m.shows("asking its probe what holds its memory")
	then := *m.st.live
	m.now = m.now.Add(4 * time.Second)
	then.Time = m.now
	m.tick(&then)
	m.shows("waiting for a step, 4s: what a step holds is known when it ends")
	release <- nil
	m.until("holders of 53.0G allocated, ")
	m.shows("optimizer state 16.0G   30%")
	m.shows("V hide")
	m.key("j")
	m.hides("holders of")
	m.key("k", "V")
	release <- errors.New("its probe is busy")
	m.until("its probe is busy")
	release <- nil
	m.key("r")
	m.until("holders of 53.0G")
	release <- errors.New("no answer in time")
	m.key("r")
	m.until("no answer in time")
	m.shows("holders of 53.0G") // the old answer stays
	m.key("V")
	m.hides("holders of")
	if n := asked.Load(); n != 4 {
		t.Errorf("its probe was asked %d times", n)
	}
}

func TestVSaysWhoCannotBeAsked(t *testing.T) {
	m, asked, _ := newHoldersModel(t)
	for pid, want := range map[int]string{
		snapshottest.Probeme: "has no probe: only a probe can say what holds its memory",
		2955020:              "its probe cannot say what holds its memory: it can for PyTorch",
		3000417:              "another user's: its probe says to its owner alone what holds its memory",
	} {
		m.onto(pid).draw()
		m.hides("V holders")
		m.key("V")
		m.shows(want)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("a probe was asked %d times", n)
	}
}
