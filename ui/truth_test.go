package ui

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"vramscope/internal/guardlab/story"
	"vramscope/internal/guardlab/world"
	"vramscope/internal/quantity"
	"vramscope/sampler"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/graph"
)

// demo is the simulated box on a screen, with a clock that the test moves.
type demo struct {
	*testModel
	sampler *sampler.Sampler
	advance func(time.Duration)
}

// newDemo starts a demo with twelve minutes of the past.
func newDemo(t *testing.T, seed uint64) *demo {
	t.Helper()
	const past = 12 * time.Minute
	now := noon()
	clock := func() time.Time { return now }
	box := simulator.New(simulator.Options{Seed: seed, Clock: clock, Prelude: past})
	d := &demo{sampler: sampler.New(sampler.Options{Devices: box, Probes: box, Processes: box, Clock: clock, Simulated: true, Deadline: time.Minute})}
	var first *snapshot.Snapshot
	for ; now.Before(noon().Add(past)); now = now.Add(5 * time.Second) {
		first = d.sampler.Tick(now)
	}
	d.testModel = newTestModel(t, first, func(o *Options) { o.History, o.Now = d.sampler.History(), clock })
	d.advance = func(by time.Duration) { now = now.Add(by) }
	return d
}

// TestScreenNeverDisagrees runs the demo, and a story of jobs that share a GPU, for ten minutes with random keys. The
// places of a frame that reader compares agree. With VRAMSCOPE_FULL there are 200 seeds.
func TestScreenNeverDisagrees(t *testing.T) {
	const length = 10 * time.Minute
	seeds := uint64(1)
	if os.Getenv("VRAMSCOPE_FULL") != "" {
		seeds = 200
	}
	stories := story.All()
	var seen reader
	for seed := uint64(1); seed <= seeds; seed++ {
		d := newDemo(t, seed)
		seen.begin(d.testModel, seed)
		for range length / time.Second {
			d.advance(time.Second)
			seen.next("the demo", d.sampler.Tick(d.options.Now()))
		}
		story := stories[seed%uint64(len(stories))]
		w := story.Draw(seed).World(seed, world.Cost{})
		s := w.NewSampler()
		seen.begin(newTestModel(t, s.Tick(w.Time()), func(o *Options) { o.History, o.Now = s.History(), w.Time }), seed)
		w.Run(length, func() { seen.next(story.Name, s.Tick(w.Time())) })
	}
	t.Logf("%d frames: %d alerts of memory that fills, %d graphs with a tick, %d tiles, %d panels, %d axes, %d errors, %d sums",
		seen.frames, seen.full, seen.ticks, seen.tiles, seen.ahead, seen.axes, seen.errors, seen.sums)
	if seen.full == 0 || seen.ticks == 0 || seen.tiles == 0 || seen.ahead == 0 || seen.axes == 0 || seen.errors == 0 || seen.sums == 0 {
		t.Error("something was never on the screen")
	}
}

// begin sets the reader to another run.
func (r *reader) begin(m *testModel, seed uint64) {
	r.model, r.seed, r.keys, r.second = m, seed, rand.New(rand.NewPCG(seed, 1)), 0
	r.failed, r.labels = make(map[string]time.Time), make(map[string]string)
}

// next shows a snapshot and reads the frames of three sizes, of the largest only every fifth second.
func (r *reader) next(box string, s *snapshot.Snapshot) {
	m := r.model
	m.t.Helper()
	m.send(snapshotMsg{s})
	if r.second++; r.second%7 == 0 {
		names := [...]string{"j", "k", "esc", "esc", "3", "0", "!", "enter", "i", "s", "z", "M", "M"}
		m.press(names[r.keys.IntN(len(names))])
	}
	for _, size := range [...][2]int{{300, 80}, {120, 40}, {80, 24}} {
		if size[0] == 300 && r.second%5 > 0 {
			continue
		}
		m.resize(size[0], size[1])
		m.draw()
		r.read(m.screen(), &m.st)
		for _, fault := range r.faults {
			m.t.Errorf("%s, seed %d, second %d, %d×%d: %s", box, r.seed, r.second, size[0], size[1], fault)
		}
		if m.t.Failed() {
			m.t.Fatal("\n" + m.screen())
		}
	}
}

// reader reads frames and counts what it has found.
type reader struct {
	model  *testModel
	seed   uint64
	keys   *rand.Rand
	second int
	failed map[string]time.Time // when a GPU's memory last ran out, by UUID
	labels map[string]string    // of a graph's axes, by its title and size

	faults                                                []string
	frames, full, ticks, tiles, ahead, axes, errors, sums int
}

func (r *reader) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

var (
	gpuLine   = regexp.MustCompile(`^>? +(\d+) .* ([\d.]+)/([\d.]+)G(.*)$`)
	fullNote  = regexp.MustCompile(`! (full in \S+ \([^)]*\))`)
	alertFull = regexp.MustCompile(`^ ! GPU (\d+) (full in \S+ \([^)]*\))`)
	axisTop   = regexp.MustCompile(`^ *([\d.]+)[┼┤]`)
	graphName = regexp.MustCompile(`^── (?:GPU (\d+)|PID (\d+)|used)\b.*?, \S+ back`)
	tileUsed  = regexp.MustCompile(`── GPU (\d+) ─+ (\S+) used`)
	graphFull = regexp.MustCompile(` full (\d\d:\d\d:\d\d)`)
	timeAxis  = regexp.MustCompile(`^.* now(?: +\+\S+)*`) // another graph may be beside it
	inAMinute = regexp.MustCompile(`\+1m (\S+)`)
	sums      = regexp.MustCompile(`^ (\S+) of (\S+) used   (\S+) free(?:   .*)?   (\S+) reserved`)
)

// read compares the parts of a frame with each other and with the state.
func (r *reader) read(screen string, st *state) {
	r.faults = nil
	r.frames++
	s := st.shown
	lines := strings.Split(screen, "\n")
	notes := make(map[string]string)  // "full in …" by GPU
	totals := make(map[string]string) // by GPU
	used := make(map[string]string)
	for _, line := range lines {
		if m := gpuLine.FindStringSubmatch(line); m != nil {
			used[m[1]], totals[m[1]] = m[2], m[3]
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
	const rounding = .056 // the greatest difference between a figure with one decimal and the same with two
	for i, line := range lines {
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
			r.stays(m, st, lines[i:])
		}
		for _, m := range tileUsed.FindAllStringSubmatch(line, -1) {
			r.tiles++
			size, err := quantity.ParseBytes(m[2])
			listed, _ := strconv.ParseFloat(used[m[1]], 64)
			if off := math.Abs(float64(size)/float64(quantity.GiB) - listed); m[2] != "–" && (err != nil || off > rounding) {
				r.fault("the graph of GPU %s says %s, its line %s", m[1], m[2], used[m[1]])
			}
		}
		if m := axisTop.FindStringSubmatch(line); m != nil && title != "" && subject != "" {
			r.axes++
			if total := totals[subject]; total != "" && m[1] != total && m[1]+".0" != total { // an axis has three digits
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

// graphSubject returns the GPU that a graph is about, nil if it is about a process, an instance or a GPU with MIG.
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

// stays checks that a graph's axes do not change.
func (r *reader) stays(name []string, st *state, lines []string) {
	key := graph.SubjectOf(st.shown, followed(st)).Key
	pid, _ := strconv.Atoi(name[2])
	known := pid != 0 && st.shown.Row(key.Row) != nil
	for i := range st.shown.GPUs {
		g := &st.shown.GPUs[i]
		known = known || name[1] == strconv.Itoa(g.Index) && g.Memory.Used.Known()
	}
	end := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line+" ", " now ") })
	if !known || end < 0 {
		return
	}
	var axes strings.Builder
	for _, line := range lines[1:end] {
		axes.WriteString(string([]rune(line)[:6]))
	}
	below := []rune(lines[end])
	if lay := arrange(st.width, st.height, st.box()); !st.fills() && lay.detail.rows > 0 {
		below = below[:min(lay.graph.cells, len(below))] // the detail may have a graph, too
	}
	axes.WriteString(timeAxis.FindString(string(below)))
	title := fmt.Sprint(name[0], st.width, st.height, end)
	if before, drawn := r.labels[title]; drawn && before != axes.String() {
		r.fault("the axes of %s are\n%s\nand were\n%s", name[0], axes.String(), before)
	}
	r.labels[title] = axes.String()
}

// tick compares the tick of a GPU's graph with the time at which the snapshot expects the GPU to be full.
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

// minute compares the detail's forecast with the snapshot's, which the table shows.
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

// afterError checks that the GPU of an out-of-memory error is not said to be full soon: for 20 s, or for a minute while
// a process rebuilds its memory.
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

// figures checks that used, free and reserved add up to the total, and that the parts do not exceed used memory.
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

// addUp checks that the sums of the box add up, apart from rounding.
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
