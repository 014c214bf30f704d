package ui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/ui/dialog"
	"vramscope/ui/uitest"
)

// changed returns drawnState after a change to carol's row.
func changed(change func(*snapshot.Process)) *state {
	st := drawnState()
	change(&st.shown.Rows[0])
	return st
}

// withoutProbe leaves only the figures of the driver and of /proc.
func withoutProbe(p *snapshot.Process) {
	p.Runtime, p.RuntimeVersion, p.Probe, p.Allocators = "", "", nil, nil
	p.Allocated, p.Cached, p.Fragmented, p.Returnable, p.Other = snapshot.Bytes{}, snapshot.Bytes{}, snapshot.Bytes{}, snapshot.Bytes{}, snapshot.Bytes{}
	p.Trend, p.Predicted, p.GrowthPerSecond = snapshot.TrendUnknown, nil, snapshot.Bytes{}
}

// goneState returns the drawn state after carol's process has ended.
func goneState() *state {
	st := drawnState()
	st.shown.Ended = []snapshot.EndedProcess{{
		Last: st.shown.Rows[0], Ended: uitest.DrawnAt.Add(-12 * time.Second), OutOfMemoryCount: quantity.From(int64(1), quantity.Probe),
		ExitStatus: quantity.From(1, quantity.System),
	}}
	st.shown.Rows = nil
	return st
}

// native makes p a CUDA program without Python, with a pool and with much memory outside of the pool.
func native(p *snapshot.Process) {
	count := func(n int64) quantity.Optional[int64] { return quantity.From(n, quantity.Probe) }
	old := func(d time.Duration) snapshot.Float { return quantity.From(d.Seconds(), quantity.Probe) }
	p.Command, p.Runtime, p.RuntimeVersion, p.Evictable = []string{"/opt/triton/bin/tritonserver", "--model-repository=/models"}, "CUDA", "12.4", nil
	p.Probe.StartedBy, p.Probe.Capabilities = "preload", []string{"flush"}
	p.Allocated, p.Cached, p.Returnable, p.Fragmented, p.Other = uitest.Known(60.1), uitest.Known(9.2), uitest.Known(9.2), snapshot.Bytes{}, uitest.Known(1.3)
	p.Allocators = []snapshot.Allocator{
		{Kind: "cuda_pool", Basis: "post_flush", Reserved: uitest.Known(18), Allocated: uitest.Known(8.8), Cached: uitest.Known(9.2), Returnable: uitest.Known(9.2), PeakReserved: uitest.Known(18)},
		{Kind: "raw", Reserved: uitest.Known(51.3), Allocated: uitest.Known(51.3), Cached: uitest.Known(0), Returnable: uitest.Known(0), Blocks: count(213),
			Largest: []snapshot.Allocation{
				{Bytes: gib(40), AgeSeconds: old(2*time.Hour + 3*time.Minute), API: "cuMemAlloc", Library: "libtriton_core.so"},
				{Bytes: gib(8), AgeSeconds: old(61 * time.Minute), API: "cuMemCreate", Library: "libnccl.so.2"},
				{Bytes: gib(.0625), AgeSeconds: old(9 * time.Second), API: "cuMemAllocManaged"},
				{Bytes: gib(.004)},
			}},
	}
}

func detailStates() map[string]*state {
	return map[string]*state{
		"live":     drawnState(),
		"no probe": changed(withoutProbe),
		"gone":     goneState(),
		"stale": changed(func(p *snapshot.Process) {
			p.Probe = &snapshot.Probe{State: snapshot.ProbeStale, Age: 3 * time.Second}
		}),
		"silent": changed(func(p *snapshot.Process) {
			withoutProbe(p)
			p.Probe = &snapshot.Probe{State: snapshot.ProbeSilent, Age: 14 * time.Second}
		}),
		"mismatch": changed(func(p *snapshot.Process) { p.Other = uitest.Known(-.09375) }),
		"foreign": changed(func(p *snapshot.Process) {
			withoutProbe(p)
			*p = snapshot.Process{ID: p.ID, GPU: 3, Used: uitest.Known(9.2), Type: "C"}
			p.ID.Process = process.Identity{PID: 184}
		}),
		"native":  changed(native),
		"nothing": {now: uitest.DrawnAt, shown: &snapshot.Snapshot{Time: uitest.DrawnAt}},
	}
}

func TestDetailGoldens(t *testing.T) {
	for name, st := range detailStates() {
		for _, size := range [][2]int{{80, 22}, {120, 38}, {200, 48}, {60, 9}, {30, 3}} {
			for _, ascii := range []bool{false, true} {
				for _, whole := range []bool{true, false} {
					if (ascii || size[0] != 80) && name != "live" {
						continue
					}
					if name == "foreign" && len(st.shown.Rows) > 0 {
						st.Cursor.ID = st.shown.Rows[0].ID
					}
					t.Run(fmt.Sprintf("%s %dx%d ascii=%v whole=%v", name, size[0], size[1], ascii, whole), func(t *testing.T) {
						matches(t, newDetail(st, uitest.Appearance(t, "", ascii), nil, whole), size[0], size[1])
					})
				}
			}
		}
	}
	t.Run("colours", func(t *testing.T) {
		matches(t, newDetail(drawnState(), uitest.Appearance(t, "dark", false), nil, true), 80, 22)
	})
}

// matches checks a panel's cells, then its golden.
func matches(t *testing.T, p panel, width, height int) {
	t.Helper()
	lines := p.Render(width, height)
	uitest.CheckCells(t, lines, width, height)
	golden.RequireEqual(t, []byte(strings.Join(lines, "\n")+"\n"))
}

func TestEnvironmentGoldens(t *testing.T) {
	p := carol()
	empty := dialog.NewEnvironment(uitest.Appearance(t, "", false), &p)
	t.Run("reading", func(t *testing.T) { matches(t, empty, 80, 7) })
	t.Run("none", func(t *testing.T) { matches(t, empty.Fill(nil, nil), 80, 7) })
	t.Run("refused", func(t *testing.T) {
		matches(t, empty.Fill(nil, errors.New("process: environment of 2963112: permission denied")), 80, 7)
	})
	long := []process.Variable{
		{Name: "CUDA_VISIBLE_DEVICES", Value: "3"}, {Name: "EMPTY"}, {Name: "NO_EQUALS"},
		{Name: "PYTORCH_CUDA_ALLOC_CONF", Value: "expandable_segments:True,garbage_collection_threshold:0.8,max_split_size_mb:512,backend:native"},
		{Name: "HOSTILE", Value: "\x1b]0;owned\x07\x1b[2J" + strings.Repeat("x", 64<<10)},
	}
	for _, size := range [][2]int{{80, 18}, {40, 8}} {
		t.Run(fmt.Sprintf("long %dx%d", size[0], size[1]), func(t *testing.T) { matches(t, empty.Fill(long, nil), size[0], size[1]) })
	}
}

func TestSignalDialogGoldens(t *testing.T) {
	for _, size := range [][2]int{{80, 14}, {120, 20}, {60, 9}, {40, 6}} {
		for _, ascii := range []bool{false, true} {
			t.Run(fmt.Sprintf("%dx%d ascii=%v", size[0], size[1], ascii), func(t *testing.T) {
				st := drawnState()
				matches(t, dialog.NewSignal(uitest.Appearance(t, "", ascii), st.screen(), st.Cursor.ID), size[0], size[1])
			})
		}
	}
	gone := goneState()
	t.Run("gone", func(t *testing.T) {
		matches(t, dialog.NewSignal(uitest.Appearance(t, "", false), gone.screen(), gone.Cursor.ID), 80, 8)
	})
	t.Run("every reason at once", func(t *testing.T) {
		st := goneState()
		st.shown.Ended[0].Last.ID.Process = process.Identity{PID: 184}
		matches(t, dialog.NewSignal(uitest.Appearance(t, "", false), st.screen(), st.shown.Ended[0].Last.ID), 80, 9)
	})
}

func TestPromptGoldens(t *testing.T) {
	for _, width := range []int{80, 40, 14} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			matches(t, dialog.NewPrompt(uitest.Appearance(t, "mono", false), "filter", "user:alice train 日本"), width, 1)
		})
	}
}

// TestPanelsFillEverySize: each panel has exactly as many cells as asked, even if it is tiny or empty.
func TestPanelsFillEverySize(t *testing.T) {
	lk := uitest.Appearance(t, "dark", false)
	st := drawnState()
	st.history = memoryHistory{uitest.CurveHistory{Now: uitest.DrawnAt, Every: time.Second, Since: time.Hour, Curve: uitest.Leak, Log: uitest.EventLog()}}
	p := st.shown.Rows[0]
	panels := map[string]panel{
		"graph": graphAbout(st, lk, followed(st)), "detail": newDetail(st, lk, nil, true), "beside": newDetail(st, lk, nil, false),
		"help": dialog.NewHelp(lk), "events": dialog.NewEvents(lk, st.screen()), "signal": dialog.NewSignal(lk, st.screen(), p.ID),
		"environment": dialog.NewEnvironment(lk, &p).Fill([]process.Variable{{Name: "A", Value: "b"}}, nil), "prompt": dialog.NewPrompt(lk, "find", "日本語"),
		"no detail": newDetail(&state{now: uitest.DrawnAt}, lk, nil, true),
	}
	for name, panel := range panels {
		for _, width := range []int{0, 1, 2, 3, 5, 9, 17, 30, 47, 79, 80, 81, 199, 300} {
			for _, height := range []int{0, 1, 2, 3, 4, 7, 12, 22, 60} {
				lines := panel.Render(width, height)
				if len(lines) != height {
					t.Errorf("%s %d×%d: %d lines", name, width, height, len(lines))
				}
				for _, l := range lines {
					if got := ansi.StringWidth(l); got != width {
						t.Fatalf("%s %d×%d: a line of %d cells: %q", name, width, height, got, ansi.Strip(l))
					}
				}
			}
		}
	}
}

func BenchmarkDetail80x22(b *testing.B) {
	st, lk := drawnState(), uitest.Appearance(b, "dark", false)
	st.history = uitest.PointsHistory{Amounts: []int64{60 << 30, 61 << 30}}
	b.ReportAllocs()
	for b.Loop() {
		newDetail(st, lk, nil, true).Render(80, 22)
	}
}
