package ui

import (
	"cmp"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/graph"
	"vramscope/ui/keys"
	"vramscope/ui/table"
)

const gb = quantity.GiB

// lookOf returns the appearance of a theme with every action bound, as in the drawings.
func lookOf(t testing.TB, theme string, dark bool, profile colorprofile.Profile, g cell.Glyphs) *cell.Appearance {
	t.Helper()
	styles, err := themes.New(theme, dark, profile)
	if err != nil {
		t.Fatal(err)
	}
	return &cell.Appearance{Styles: styles, Glyphs: g, Keys: keys.New(keys.AllAbilities, false), Version: "1.0.0"}
}

// drawnLook returns an appearance without colours, with the glyphs of the drawings.
func drawnLook(t testing.TB) *cell.Appearance {
	return lookOf(t, "mono", true, colorprofile.NoTTY, cell.UnicodeGlyphs())
}

// screenOf returns a screen of this size that shows a snapshot.
func screenOf(s *snapshot.Snapshot, width, height int) *state {
	st := &state{
		width: width, height: height, now: s.Time, live: s, shown: s,
		history: snapshottest.History(s), Listing: table.Listing{Tags: map[snapshot.RowID]bool{}}, idleAfter: idleAfter, stacks: &graph.Stacks{},
	}
	st.sumLasting()
	return st
}

// at puts the cursor on a process, on a line of the table.
func (st *state) at(pid, line int) *state {
	st.Cursor = table.Cursor{Active: true, ID: snapshottest.RowID(st.shown, pid), Line: line}
	return st
}

// fakeSource fakes the sampler, and counts the calls.
type fakeSource struct {
	mu        sync.Mutex
	latest    *snapshot.Snapshot
	updates   chan struct{}
	interval  time.Duration
	suspended int
	resumed   int
	aligned   int
}

func newFakeSource(first *snapshot.Snapshot) *fakeSource {
	s := &fakeSource{updates: make(chan struct{}, 1)}
	if first != nil {
		s.publish(first)
	}
	return s
}

func (s *fakeSource) publish(next *snapshot.Snapshot) {
	s.mu.Lock()
	s.latest = next
	s.mu.Unlock()
	select {
	case s.updates <- struct{}{}:
	default:
	}
}

func (s *fakeSource) Latest() *snapshot.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest
}

func (s *fakeSource) Updates() <-chan struct{} { return s.updates }

func (s *fakeSource) Align(time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aligned++
}

func (s *fakeSource) SetInterval(interval time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interval = interval
}

func (s *fakeSource) Suspend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suspended++
}

func (s *fakeSource) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resumed++
}

// fakeHistory holds only the moments it is given, newest last.
type fakeHistory struct{ moments []*snapshot.Snapshot }

func (h fakeHistory) At(t time.Time) (*snapshot.Snapshot, bool) {
	for i := len(h.moments) - 1; i >= 0; i-- {
		if !h.moments[i].Time.After(t) {
			past := *h.moments[i]
			past.Past = true
			return &past, true
		}
	}
	return nil, false
}

func (h fakeHistory) Series(_ snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	points := make([]snapshot.Point, buckets)
	for i := range points {
		points[i].Time = from.Add(to.Sub(from) * time.Duration(i+1) / time.Duration(buckets))
	}
	return points
}

func (h fakeHistory) Span() (oldest, newest time.Time) {
	if len(h.moments) == 0 {
		return time.Time{}, time.Time{}
	}
	return h.moments[0].Time, h.moments[len(h.moments)-1].Time
}

func (h fakeHistory) Events(int) []snapshot.Event { return nil }

// noon returns the time of smallBox at second 0.
func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// smallBox returns a snapshot of a box with some GPUs, and processes on each. Memory changes a little each second.
func smallBox(gpus, processes, second int) *snapshot.Snapshot {
	s := &snapshot.Snapshot{
		Sequence: uint64(second) + 1,
		Time:     noon().Add(time.Duration(second) * time.Second),
		Interval: time.Second,
		Host:     snapshot.Host{Name: "h100-03", User: "root"},
		Driver:   snapshot.Driver{Version: "550.163.01", CUDAVersion: "12.4", State: snapshot.DriverOK},
	}
	known := func(b quantity.Bytes) snapshot.Bytes { return quantity.From(b, quantity.Driver) }
	for g := range gpus {
		uuid := "GPU-0000000" + string(rune('0'+g))
		var used quantity.Bytes
		for p := range processes {
			size := quantity.Bytes(p+1)*quantity.GiB + quantity.Bytes((second*7+g*3+p)%50)*10*quantity.MiB
			used += size
			s.Rows = append(s.Rows, snapshot.Process{
				ID: snapshot.RowID{
					Process: process.Identity{PID: 1000 + g*100 + p, StartTime: uint64(1 + p), Namespace: 1},
					GPUUUID: uuid,
				},
				GPU: g, User: []string{"alice", "bob", "root"}[p%3], Name: "python",
				Command: []string{"python", "train.py", "--rank", string(rune('a' + p))},
				Type:    "C", Used: known(size),
			})
		}
		s.GPUs = append(s.GPUs, snapshot.GPU{
			Index: g, UUID: uuid, Name: "NVIDIA H100 80GB HBM3", State: snapshot.GPUOK,
			Memory: snapshot.Memory{
				Total: known(80 * quantity.GiB), Used: known(used),
				Free: known(79*quantity.GiB - used), Reserved: known(quantity.GiB),
			},
			Parts:        snapshot.Parts{Unknown: known(used)},
			Sensors:      metric.Sensors{Utilization: quantity.From((second*3+g)%100, quantity.Driver)},
			ProcessCount: quantity.From(processes, quantity.Driver),
		})
	}
	return s
}

const idleAfter = 10 * time.Minute

// withDefaults returns the options with cli's values where a test has set none.
func (o Options) withDefaults() Options {
	o.Input, o.Output = cmp.Or(o.Input, os.Stdin), cmp.Or(o.Output, os.Stdout)
	o.IdleAfter, o.Bell = cmp.Or(o.IdleAfter, idleAfter), true
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
