package ui

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// demo is the simulated box on a screen, on a clock that the test moves.
type demo struct {
	*testModel
	sampler *sampler.Sampler
	advance func(time.Duration)
}

// newDemo is a demo with twelve minutes of the past, as the monitor begins it.
func newDemo(t *testing.T, seed uint64) *demo {
	t.Helper()
	const past = 12 * time.Minute
	now := noon()
	clock := func() time.Time { return now }
	box, err := simulator.New(simulator.Options{Seed: seed, Clock: clock, Prelude: past})
	if err != nil {
		t.Fatal(err)
	}
	d := &demo{sampler: sampler.New(sampler.Options{Devices: box, Probes: box, Processes: box, Clock: clock, Simulated: true, Deadline: time.Minute})}
	var first *snapshot.Snapshot
	for ; now.Before(noon().Add(past)); now = now.Add(5 * time.Second) {
		first = d.sampler.Tick(now)
	}
	d.testModel = newTestModel(t, first, func(o *Options) { o.History, o.Now = d.sampler.History(), clock })
	d.advance = func(by time.Duration) { now = now.Add(by) }
	return d
}

// TestScreenNeverDisagrees runs the demo for ten minutes with each of some seeds and random
// keys, and reads each frame at two sizes as a user does: no two places say different things.
// With VRAMSCOPE_FULL there are 200 seeds.
func TestScreenNeverDisagrees(t *testing.T) {
	seeds := uint64(1)
	if os.Getenv("VRAMSCOPE_FULL") != "" {
		seeds = 200
	}
	var seen reader
	for seed := uint64(1); seed <= seeds && !t.Failed(); seed++ {
		d := newDemo(t, seed)
		keys := rand.New(rand.NewPCG(seed, 1))
		for second := range 600 {
			d.advance(time.Second)
			d.send(snapshotMsg{d.sampler.Tick(d.options.Now())})
			if second%7 == 6 {
				names := [...]string{"j", "k", "esc", "esc", "3", "0", "!", "enter", "i", "s", "z", "M", "M"}
				d.press(names[keys.IntN(len(names))])
			}
			for _, size := range [...][2]int{{120, 40}, {80, 24}} {
				d.resize(size[0], size[1])
				d.draw()
				seen.read(d.screen(), &d.st)
				for _, fault := range seen.faults {
					t.Errorf("seed %d, second %d, %d×%d: %s", seed, second, size[0], size[1], fault)
				}
				if t.Failed() {
					t.Fatal("\n" + d.screen())
				}
			}
		}
	}
	t.Logf("%d frames: %d alerts of memory that fills, %d graphs with a tick, %d panels, %d axes, %d errors, %d sums",
		seen.frames, seen.full, seen.ticks, seen.ahead, seen.axes, seen.errors, seen.sums)
	if seen.full == 0 || seen.ticks == 0 || seen.ahead == 0 || seen.axes == 0 || seen.errors == 0 || seen.sums == 0 {
		t.Error("something was never on the screen")
	}
}

// reader reads frames and counts what it has found.
type reader struct {
	faults                                         []string
	frames, full, ticks, ahead, axes, errors, sums int
	failed                                         map[string]time.Time // when a GPU's memory last ran out, by UUID
	last                                           time.Time
}

func (r *reader) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

var (
	gpuLine   = regexp.MustCompile(`^>? +(\d+) .* ([\d.]+)/([\d.]+)G(.*)$`)
	fullNote  = regexp.MustCompile(`! (full in \S+ \([^)]*\))`)
	alertFull = regexp.MustCompile(`^ ! GPU (\d+) (full in \S+ \([^)]*\))`)
	axisTop   = regexp.MustCompile(`^ *([\d.]+)[┼┤]`)
	graphName = regexp.MustCompile(`^── (?:GPU (\d+)|PID (\d+)|used)\b.*, \S+ back`)
	graphFull = regexp.MustCompile(` full (\d\d:\d\d:\d\d)`)
	inAMinute = regexp.MustCompile(`\+1m (\S+)`)
	sums      = regexp.MustCompile(`^ (\S+) of (\S+) used   (\S+) free(?:   .*)?   (\S+) reserved`)
)

// read reads a frame of what the state shows.
func (r *reader) read(screen string, st *state) {
	r.faults = nil
	r.frames++
	s := st.shown
	if r.failed == nil || s.Time.Before(r.last) {
		r.failed = make(map[string]time.Time)
	}
	r.last = s.Time
	lines := strings.Split(screen, "\n")
	notes := make(map[string]string)  // "full in …" by GPU
	totals := make(map[string]string) // by GPU
	for _, line := range lines {
		if m := gpuLine.FindStringSubmatch(line); m != nil {
			totals[m[1]] = m[3]
			if note := fullNote.FindStringSubmatch(m[4]); note != nil {
				notes[m[1]] = note[1]
			}
		}
	}
	r.figures(s)
	for i := range s.GPUs {
		r.afterError(&s.GPUs[i], s, screen)
	}
	subject, title := "", ""
	for _, line := range lines {
		if m := alertFull.FindStringSubmatch(line); m != nil {
			r.full++
			if note, listed := notes[m[1]]; listed && note != m[2] || !listed && len(totals) > 0 {
				r.fault("the alert line says that GPU %s is %q, its note %q", m[1], m[2], note)
			}
		}
		if m := graphName.FindStringSubmatch(line); m != nil {
			subject, title = m[1], line
			if g := graphSubject(s, st, m[1]); g != nil && g.Doubt.Words() != "" && len(g.Predicted) == 0 && !strings.Contains(line, g.Doubt.Words()) {
				r.fault("there is no forecast, and the graph does not say why: %q", line)
			}
		}
		if m := axisTop.FindStringSubmatch(line); m != nil && title != "" && subject != "" {
			r.axes++
			if total := totals[subject]; total != "" && m[1] != total {
				r.fault("GPU %s has %sG, its graph's axis ends at %s", subject, total, m[1])
			}
			if m := graphFull.FindStringSubmatch(line); m != nil {
				r.tick(s, subject, m[1])
			}
			subject = ""
		}
		if m := sums.FindStringSubmatch(line); m != nil {
			r.addUp(m[1:])
		}
	}
	if m := inAMinute.FindStringSubmatch(screen); m != nil && st.Cursor.Active {
		r.minute(s, st, m[1])
	}
}

// graphSubject is the GPU that a graph is about, nil where it is about a process or instance.
func graphSubject(s *snapshot.Snapshot, st *state, index string) *snapshot.GPU {
	if st.Focus != nil && st.Focus.Instance.MIG {
		return nil
	}
	for i := range s.GPUs {
		if index == strconv.Itoa(s.GPUs[i].Index) && !s.GPUs[i].MIG {
			return &s.GPUs[i]
		}
	}
	return nil
}

// tick compares the graph's tick with the note.
func (r *reader) tick(s *snapshot.Snapshot, index, clock string) {
	r.ticks++
	for i := range s.GPUs {
		g := &s.GPUs[i]
		if strconv.Itoa(g.Index) != index {
			continue
		}
		if g.FullIn == nil {
			r.fault("the graph of GPU %s is full at %s, and no forecast says so", index, clock)
		} else if want := s.Time.Add(g.FullIn.Median).Format(time.TimeOnly); want != clock {
			r.fault("the graph of GPU %s is full at %s, its note at %s", index, clock, want)
		}
	}
}

// minute compares the detail's forecast with the table's column.
func (r *reader) minute(s *snapshot.Snapshot, st *state, panel string) {
	p := s.Row(st.Cursor.ID)
	if p == nil {
		return
	}
	r.ahead++
	for i := range p.Predicted {
		if f := &p.Predicted[i]; f.Horizon == time.Minute && panel != f.Median.String() && panel != "full" {
			r.fault("PID %d: the panel expects %s in a minute, the table %s", p.ID.Process.PID, panel, f.Median)
		}
	}
}

// afterError holds that a GPU is not said to be full soon within a minute after an error while
// its memory is rebuilt.
func (r *reader) afterError(g *snapshot.GPU, s *snapshot.Snapshot, screen string) {
	for i := range s.Alerts {
		if a := &s.Alerts[i]; a.Kind == snapshot.AlertOutOfMemory && a.GPUUUID == g.UUID {
			r.failed[g.UUID] = a.Since
		}
	}
	at, failed := r.failed[g.UUID]
	if !failed || s.Time.Sub(at) > time.Minute {
		return
	}
	r.errors++
	rebuilds := false
	for p := range s.GPURows(g.UUID) {
		rebuilds = rebuilds || p.Doubt == snapshot.Rebuilding
	}
	if said := strings.Contains(screen, fmt.Sprintf("GPU %d full in", g.Index)); said && (rebuilds || s.Time.Sub(at) < 20*time.Second) {
		r.fault("%v after an error GPU %d is said to be full soon", s.Time.Sub(at), g.Index)
	}
}

// figures holds that used, free and reserved are the total, and the parts what is used.
func (r *reader) figures(s *snapshot.Snapshot) {
	for i := range s.GPUs {
		g := &s.GPUs[i]
		used, known := g.Memory.Used.Value()
		if !known || g.State != snapshot.GPUOK {
			continue
		}
		if sum := used + g.Memory.Free.Or(0) + g.Memory.Reserved.Or(0); g.Memory.Free.Known() && sum != g.Memory.Total.Or(0) {
			r.fault("GPU %d: used, free and reserved are %s of %s", g.Index, sum, g.Memory.Total.Or(0))
		}
		var parts quantity.Bytes
		for _, part := range cell.PartsOf(g.Parts, g.Memory.Used) {
			parts += part
		}
		if parts-used > snapshot.Tolerance(used) {
			r.fault("GPU %d: its parts are %s, used is %s", g.Index, parts, used)
		}
	}
}

// addUp holds that the sums of the box add up, to the digits that are shown.
func (r *reader) addUp(figures []string) {
	r.sums++
	var v [4]quantity.Bytes
	for i, text := range figures {
		size, err := quantity.ParseBytes(text)
		if err != nil {
			r.fault("%q: %v", text, err)
			return
		}
		v[i] = size
	}
	const rounding = 2 * quantity.GiB
	if off := v[0] + v[2] + v[3] - v[1]; off < -rounding || off > rounding {
		r.fault("%s used, %s free and %s reserved of %s", v[0], v[2], v[3], v[1])
	}
}
