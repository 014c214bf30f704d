package ui

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/uitest"
)

// fullStats returns the drawn box with all stats of the leaking process's probe.
func fullStats() *snapshot.Snapshot {
	box := snapshottest.DrawnBox()
	for i := range box.Rows {
		p := &box.Rows[i]
		if p.ID.Process.PID != snapshottest.Leaking {
			continue
		}
		p.Evictable = []snapshot.Evictable{{Name: "kv_cache", Priority: 10}, {Name: "loader", Priority: 1}}
		p.Probe.StartedBy, p.Probe.Capabilities = "run", []string{"flush", "snapshot"}
		p.Allocators[0].Blocks = quantity.From(int64(10233), quantity.Probe)
		p.Allocators[0].StrandedSegments = quantity.From(int64(212), quantity.Probe)
	}
	return box
}

func TestDetailAsDrawn(t *testing.T) {
	want := readLines(t, filepath.Join("testdata", "drawings", "7-detail-80x24.txt"))
	st := screenOf(fullStats(), 80, 24).at(snapshottest.Leaking, 1)
	st.history, st.detail, st.window = peaked{st.history}, true, 5*time.Minute
	got := frame(st, drawnLook(t))
	for i := range want {
		// Goldens compare the curves.
		if i > 14 && i < 22 {
			continue
		}
		if got[i] != want[i] {
			t.Errorf("line %d\n got %s|\nwant %s|", i+1, got[i], want[i])
		}
	}
}

func TestDetailTellsTheSizesOfCaches(t *testing.T) {
	box := fullStats()
	for i := range box.Rows {
		if caches := box.Rows[i].Evictable; len(caches) > 0 {
			caches[0].Bytes = uitest.Known(2.5)
		}
	}
	st := screenOf(box, 80, 24).at(snapshottest.Leaking, 1)
	st.detail = true
	const want = "evictable: kv_cache 2.50G (prio 10), loader – (prio 1)   "
	if got := strings.Join(frame(st, drawnLook(t)), "\n"); !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

// justStarted returns the history of a process that started five seconds ago.
func justStarted(snapshot.History) snapshot.History {
	return uitest.CurveHistory{Curve: uitest.Leak, Now: uitest.DrawnAt, Every: time.Second, Since: 5 * time.Second}
}

// TestDetailOfYoungProcessHasNoOutlook: after a few seconds the detail does not say how much of a flush stays free.
func TestDetailOfYoungProcessHasNoOutlook(t *testing.T) {
	st := screenOf(fullStats(), 80, 24).at(snapshottest.Leaking, 1)
	st.detail = true
	for name, c := range map[string]struct {
		history snapshot.History
		says    bool
	}{"seconds": {justStarted(nil), false}, "minutes": {st.history, true}} {
		st.history = c.history
		got := strings.Join(frame(st, drawnLook(t)), "\n")
		if !strings.Contains(got, "F frees 11.8G") || strings.Contains(got, "should stay free") != c.says {
			t.Errorf("after %s it says\n%s", name, got)
		}
	}
}

func TestEstimateHasTwoDigits(t *testing.T) {
	for amount, want := range map[float64]string{9.5: "9.5G", 9.89: "9.9G", 11.02: "11G", 123.4: "120G", 0.6: "610M", 0.05: "51M", 2: "2.0G", 0: "0"} {
		if got := gib(amount).About(); got != want {
			t.Errorf("about %v GiB is %q, want %q", amount, got, want)
		}
	}
}

// TestProbeWithoutAllocator: the program uses no library whose allocator the probe can read.
func TestProbeWithoutAllocator(t *testing.T) {
	m := newFlushModel(t, func(box *snapshot.Snapshot, _ *Options) {
		for i := range box.Rows {
			if p := &box.Rows[i]; p.ID.Process.PID == snapshottest.Probeme {
				p.Probe = &snapshot.Probe{State: snapshot.ProbeLive, StartedBy: "attach"}
			}
		}
	})
	m.onto(snapshottest.Probeme).draw()
	m.shows("2.31G no allocator yet")
	m.key("enter")
	m.shows("probe live, 0.0s old, attached while it ran")
	m.shows("contents unknown: its probe sees no allocator in use")
}

// TestPartsByTheDaemonAreMarked: parts that the daemon reports belong to another user's process,
// which this user cannot flush.
func TestPartsByTheDaemonAreMarked(t *testing.T) {
	m := newFlushModel(t, func(box *snapshot.Snapshot, _ *Options) {
		box.Host.User = "alice"
		for i := range box.Rows {
			if p := &box.Rows[i]; p.User == "carol" && p.Probe != nil {
				p.Probe.ByDaemon = true
			}
		}
	})
	m.onto(snapshottest.Leaking).draw()
	m.key("F")
	m.shows("is carol's, you are alice: a probe answers its own user only")
	m.key("enter")
	m.shows("by the daemon")
	m.hides("F frees")
}

// TestDetailExplainsUnknownUsage: the detail distinguishes three reasons: the driver hides a
// process's memory, its GPU does not answer, or there is no driver.
func TestDetailExplainsUnknownUsage(t *testing.T) {
	for want, change := range map[string]func(*snapshot.Snapshot){
		"the driver does not report how much it uses": func(*snapshot.Snapshot) {},
		"its GPU does not answer":                     func(s *snapshot.Snapshot) { s.GPUs[0].State = snapshot.GPULost },
		"no driver reports how much it uses":          func(s *snapshot.Snapshot) { s.Driver.State = snapshot.DriverGone },
	} {
		st := changed(func(p *snapshot.Process) { withoutProbe(p); p.Used = snapshot.Bytes{} })
		change(st.shown)
		if text := rendered(newDetail(st, uitest.Appearance(t, "", false), nil, true), 80, 22); !strings.Contains(text, want) {
			t.Errorf("not %q but\n%s", want, text)
		}
	}
}

// TestDetailTellsWhatOtherMayHold: TensorFlow does not report what it reserves.
func TestDetailTellsWhatOtherMayHold(t *testing.T) {
	st := changed(func(p *snapshot.Process) {
		p.Runtime, p.Cached, p.Fragmented, p.Other = "TensorFlow", snapshot.Bytes{}, snapshot.Bytes{}, snapshot.Bytes{}
		p.Allocators = []snapshot.Allocator{{Kind: "tensorflow", Basis: "largest_free", Allocated: p.Allocated}}
	})
	const want = "and what is cached, which TensorFlow does not report"
	if text := rendered(newDetail(st, uitest.Appearance(t, "", false), nil, true), 80, 22); !strings.Contains(text, want) {
		t.Errorf("not %q but\n%s", want, text)
	}
}

func TestDetailHasTheFiguresThatAreRare(t *testing.T) {
	for want, change := range map[string]func(*snapshot.Process){
		"shrinking -25M/s": func(p *snapshot.Process) {
			p.Trend, p.GrowthPerSecond = snapshot.TrendShrinking, quantity.From(-25*quantity.MiB, quantity.Computed)
		},
		"M+C, MPS limit 2.00G, MPS threads 33.3%": func(p *snapshot.Process) {
			p.Type, p.MPSLimit, p.MPSThreads = "M+C", quantity.From(2*quantity.GiB, quantity.System), quantity.From(33.333, quantity.System)
		},
		"too young for a forecast": func(p *snapshot.Process) { p.Trend = snapshot.TrendYoung },
		"other          –":         func(p *snapshot.Process) { p.Other = snapshot.Bytes{} },
		"skew: driver and probe":   func(p *snapshot.Process) { p.Other = snapshot.Bytes{} },
	} {
		if text := rendered(newDetail(changed(change), uitest.Appearance(t, "", false), nil, true), 80, 22); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	s := snapshottest.DrawnBox()
	second := *s.Row(snapshottest.RowID(s, snapshottest.Leaking))
	second.ID.GPUUUID, second.GPU = s.GPUs[6].UUID, 6
	s.Rows = append(s.Rows, second)
	snapshot.SortRows(s.Rows)
	text := rendered(newDetail(screenOf(s, 160, 24).at(snapshottest.Leaking, 0), uitest.Appearance(t, "", false), nil, true), 160, 22)
	if !strings.Contains(text, "also on GPU 6") {
		t.Errorf("not on which GPU it is, too:\n%s", text)
	}
}

func TestDetailShowsAdvice(t *testing.T) {
	s := snapshottest.DrawnBox()
	m := newTestModel(t, s, nil)
	m.press("enter")
	m.shows(" advice     614M  idle for 42m with 71.7G: a flush frees 614M")
	then := *s
	then.Sequence, then.Time = s.Sequence+1, s.Time.Add(adviceEvery+time.Second)
	p := then.Row(m.st.Cursor.ID)
	p.SMUtilization = quantity.From(50, quantity.Driver)
	m.tick(&then)
	m.hides(" advice ")
}

// TestPartsOfPool: a pool's fragmented memory is known from its last flush, and what the next flush
// frees is only a bound.
func TestPartsOfPool(t *testing.T) {
	for _, c := range []struct {
		fragmented snapshot.Bytes
		note       string
	}{
		{snapshot.Bytes{}, "known only after a flush"},
		{quantity.From(gib(1), quantity.Probe), "what the last flush could not free"},
	} {
		m := newFlushModel(t, func(s *snapshot.Snapshot, _ *Options) {
			for i := range s.Rows {
				if p := &s.Rows[i]; p.ID.Process.PID == snapshottest.Leaking {
					a := &p.Allocators[0]
					a.Kind, a.Basis, a.Fragmented, p.Fragmented = "cuda_pool", "post_flush", c.fragmented, c.fragmented
				}
			}
		})
		m.onto(snapshottest.Leaking).key("enter")
		m.shows("F frees about 11.8G")
		m.shows(c.note)
	}
}
