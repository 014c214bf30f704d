package recording

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// TestEachChangeOfAProcessIsRecorded: a change of any one field counts.
func TestEachChangeOfAProcessIsRecorded(t *testing.T) {
	make := func() *snapshot.Process {
		return &snapshot.Process{
			User: "bob", Command: []string{"python3", "train.py"}, Started: time.Unix(100, 0),
			Probe:      &snapshot.Probe{State: snapshot.ProbeLive, Capabilities: []string{"flush"}},
			Allocators: []snapshot.Allocator{{Kind: "pytorch", Basis: "stranded"}},
		}
	}
	for i, change := range []func(*snapshot.Process){
		func(p *snapshot.Process) { p.User = "ann" },
		func(p *snapshot.Process) { p.UID = quantity.From[uint32](7, quantity.System) },
		func(p *snapshot.Process) { p.Name = "python3" },
		func(p *snapshot.Process) { p.Parent = 7 },
		func(p *snapshot.Process) { p.Job = process.Job{Kind: "slurm", ID: "7"} },
		func(p *snapshot.Process) { p.Type = "G" },
		func(p *snapshot.Process) { p.Runtime = "PyTorch" },
		func(p *snapshot.Process) { p.RuntimeVersion = "2.8" },
		func(p *snapshot.Process) { p.Started = time.Unix(101, 0) },
		func(p *snapshot.Process) { p.Command = p.Command[:1] },
	} {
		a, b := make(), make()
		if !sameNames(a, b) {
			t.Fatal("equal processes differ")
		}
		if change(b); sameNames(a, b) {
			t.Errorf("change %d of the names is none", i)
		}
	}
	for i, change := range []func(*snapshot.Process){
		func(p *snapshot.Process) { p.GPU = 7 },
		func(p *snapshot.Process) { p.Type = "G" },
		func(p *snapshot.Process) { p.Runtime = "PyTorch" },
		func(p *snapshot.Process) { p.RuntimeVersion = "2.8" },
		func(p *snapshot.Process) { p.Probe = nil },
		func(p *snapshot.Process) { p.Probe.State = snapshot.ProbeSilent },
		func(p *snapshot.Process) { p.Probe.StartedBy = "run" },
		func(p *snapshot.Process) { p.Probe.Mismatch = true },
		func(p *snapshot.Process) { p.Probe.Doubted = true },
		func(p *snapshot.Process) { p.Probe.Rejected = "it lies" },
		func(p *snapshot.Process) { p.Probe.Claimed = quantity.From[quantity.Bytes](7, quantity.Probe) },
		func(p *snapshot.Process) { p.Probe.Capabilities = nil },
		func(p *snapshot.Process) { p.Allocators = nil },
		func(p *snapshot.Process) { p.Hints.Rank = quantity.From(0, quantity.System) },
		func(p *snapshot.Process) { p.Allocators[0].Kind = "rmm" },
		func(p *snapshot.Process) { p.Allocators[0].Basis = "post_flush" },
		func(p *snapshot.Process) { p.Allocators[0].ReturnableBound = snapshot.Most },
	} {
		a, b := make(), make()
		if !sameProcessState(a, b) {
			t.Fatal("equal processes differ")
		}
		if change(b); sameProcessState(a, b) || sameProcessState(b, a) {
			t.Errorf("change %d of the state is none", i)
		}
	}
}

// TestProblemsOfADay: a missing file or row, a closed database, and errors of a removed day are no problems.
func TestProblemsOfADay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "day")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		err  error
		want int
	}{
		{path, nil, 0}, {path, fs.ErrNotExist, 0}, {path, sql.ErrNoRows, 0}, {path, errors.New("sql: database is closed"), 0},
		{path + "-gone", errors.New("no more"), 0}, {path, errors.New("no more"), 1},
	} {
		r := &Recording{problems: map[string]error{}}
		if got := r.note(c.path, c.err); len(r.Problems()) != c.want || !errors.Is(got, c.err) {
			t.Errorf("%v: %v, %q", c.err, got, r.Problems())
		}
	}
}

// TestConstantsOfAGPU: constants with a field of their own are not recorded twice, and unknown ones
// not at all. Those of another version are ignored.
func TestConstantsOfAGPU(t *testing.T) {
	g := snapshot.GPU{}
	g.TemperatureSlowdown, g.PowerLimit = quantity.From(90, quantity.Driver), quantity.From(700.0, quantity.Driver)
	if state := gpuStateOf(&g); state.Slowdown == nil || state.Limit == nil || state.Constants != nil {
		t.Errorf("%+v", state)
	}
	g.SMClockMax = quantity.From(1980, quantity.Driver)
	state := gpuStateOf(&g)
	if len(state.Constants) != 1 {
		t.Errorf("constants: %v", state.Constants)
	}
	state.Constants["of another version"] = amount{Value: 7}
	if got := state.restore(g.UUID); got.Sensors != g.Sensors {
		t.Errorf("%+v, want %+v", got.Sensors, g.Sensors)
	}
}

// TestSamplesOfATail: a tail returns only the samples of the series, in (from, to].
func TestSamplesOfATail(t *testing.T) {
	tail := &tailCache{block: new(block)}
	other := &column{series: 1}
	c := &column{series: 2}
	tail.block.columns = []*column{other, c}
	for tick := range int64(6) {
		tail.block.times[tick] = 100 + tick
		tail.block.n++
		other.Set(tail.block.n-1, -1)
		if tick != 3 {
			c.Set(tail.block.n-1, tick)
		}
	}
	var got []int64
	tail.samples(2, 101, 104, func(t, v int64) { got = append(got, t, v) })
	if !slices.Equal(got, []int64{102, 2, 104, 4}) {
		t.Errorf("%v", got)
	}
}

func TestLastAt(t *testing.T) {
	times := []int64{10, 20, 30}
	for at, want := range map[int64]int{5: 0, 10: 0, 19: 0, 20: 1, 21: 1, 30: 2, 99: 2} {
		if got := lastAt(times, at); got != want {
			t.Errorf("at %d: %d, want %d", at, got, want)
		}
	}
}

// TestPresent: the age of days is measured from the end of the newest other day, or from now if that is earlier.
func TestPresent(t *testing.T) {
	file := func(name string) string { return "/var/lib/vramscope/" + name + suffix }
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	end := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name    string
		paths   []string
		writing string
		want    time.Time
	}{
		{"no days", nil, "", now},
		{"an old day", []string{file("2026-11-19"), file("2026-11-20")}, "", end},
		{"another file after it", []string{file("2026-11-20"), file("what")}, "", end},
		{"a day in the future after it", []string{file("2026-11-20"), file("2031-01-01")}, "", end},
		{"the day that is written", []string{file("2026-11-20"), file("2026-11-22")}, file("2026-11-22"), end},
		{"today", []string{file("2026-11-20"), file("2026-11-24")}, "", now},
	} {
		w := &Writer{}
		if c.writing != "" {
			w.day = &day{path: c.writing}
		}
		if got := w.present(c.paths, now); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestChangesOfAProcessAreRead: a user who becomes known late is read for all moments, and the probe's
// state for each moment.
func TestChangesOfAProcessAreRead(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	before := q.record(1)[0]
	then := q.next()
	changed := &then.Rows[0]
	changed.User, changed.Probe = "ann", &snapshot.Probe{State: snapshot.ProbeSilent}
	q.w.write(tick{then, nil})
	q.w.commit()
	r := q.end()
	for _, want := range []*snapshot.Snapshot{before, then} {
		got, ok := r.At(want.Time)
		if !ok {
			t.Fatalf("nothing at %v", want.Time)
		}
		if p := got.Row(changed.ID); p == nil || p.User != "ann" || p.Probe.State != want.Row(changed.ID).Probe.State {
			t.Errorf("at %v: %+v", want.Time, p)
		}
	}
}
