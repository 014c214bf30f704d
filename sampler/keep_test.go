package sampler

import (
	"bytes"
	"encoding/gob"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/nvml"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// saved is what Save writes.
func saved(t *testing.T, s *Sampler) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.Save(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// successor is a sampler that restores what was saved, on the same box.
func (b *box) successor(kept []byte) *Sampler {
	b.mu.Lock()
	b.open = false // the process that had it open has ended
	b.mu.Unlock()
	return b.sampler(noDeadline, func(o *Options) { o.Restore = bytes.NewReader(kept) })
}

// migrate adds a MIG instance to the last GPU, or removes it.
func (b *box) migrate(enabled bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	uuid := b.devices[len(b.devices)-1].UUID
	r := b.readings[uuid]
	r.MIGEnabled, r.Instances = enabled, nil
	if enabled {
		r.Instances = []nvml.Instance{{
			ID: nvml.InstanceID{MIG: true, GPU: 1}, UUID: "MIG-1", Profile: "3g.40gb", Slices: 3,
			Memory: nvml.Memory{Total: measured(40 * gib), Used: r.Memory.Used},
		}}
	}
	b.readings[uuid] = r
}

func TestRestoredHistoryEqualsTheSavedOne(t *testing.T) {
	for seed := range uint64(6) {
		b := newBox(3)
		s := b.sampler()
		var moments []time.Time
		for _, snap := range eventful(b, s, seed, 200+int(seed)*40) {
			moments = append(moments, snap.Time)
		}
		before, after := s.History(), b.successor(saved(t, s)).History()

		if !reflect.DeepEqual(after.Events(0), before.Events(0)) || len(before.Events(0)) < 10 {
			t.Fatalf("seed %d: events\n%v\nwere\n%v", seed, after.Events(0), before.Events(0))
		}
		oldest, newest := before.Span()
		if o, n := after.Span(); !o.Equal(oldest) || !n.Equal(newest) {
			t.Fatalf("seed %d: the span is %v to %v, was %v to %v", seed, o, n, oldest, newest)
		}
		keys := map[snapshot.SeriesKey]bool{}
		for _, at := range append(moments, oldest.Add(-time.Second), newest.Add(time.Second), newest.Add(-time.Second/2)) {
			want, had := before.At(at)
			got, has := after.At(at)
			if had != has {
				t.Fatalf("seed %d: At(%v) gives %v, gave %v", seed, at, has, had)
			}
			if !had {
				continue
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: at %v\n%+v\nwas\n%+v", seed, at, got, want)
			}
			collectKeys(keys, want)
		}
		random := rand.New(rand.NewPCG(seed, 3))
		for key := range keys {
			from := oldest.Add(time.Duration(random.Int64N(int64(newest.Sub(oldest)))))
			to := from.Add(time.Duration(1 + random.Int64N(int64(time.Minute))))
			n := 1 + random.IntN(50)
			if got, want := after.Series(key, from, to, n), before.Series(key, from, to, n); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: %+v from %v\n%v\nwas\n%v", seed, key, from, got, want)
			}
		}
	}
}

func collectKeys(keys map[snapshot.SeriesKey]bool, snap *snapshot.Snapshot) {
	for id := range metric.Count {
		for i := range snap.Rows {
			keys[snapshot.SeriesKey{Metric: id, Row: snap.Rows[i].ID, GPUUUID: snap.Rows[i].ID.GPUUUID}] = true
		}
		for i := range snap.GPUs {
			keys[snapshot.SeriesKey{Metric: id, GPUUUID: snap.GPUs[i].UUID}] = true
			for _, in := range snap.GPUs[i].Instances {
				keys[snapshot.SeriesKey{Metric: id, GPUUUID: snap.GPUs[i].UUID, Instance: in.ID}] = true
			}
		}
	}
}

func TestRestoredSamplerContinues(t *testing.T) {
	b := newBox(3)
	s := b.sampler()
	b.use("GPU-0", 70*gib)
	b.tick(s)
	b.use("GPU-0", 20*gib)
	delete(b.processes, 102)
	r := b.readings["GPU-2"]
	r.Processes = nil
	b.readings["GPU-2"] = r
	b.tick(s)
	last := b.tick(s)
	if len(last.Ended) != 1 {
		t.Fatalf("ended: %+v", last.Ended)
	}

	again := b.successor(saved(t, s))
	if again.Latest() != nil {
		t.Error("there is a snapshot before the first tick")
	}
	delete(b.processes, 101)
	r = b.readings["GPU-1"]
	r.Processes = []nvml.Process{{PID: 200, Type: nvml.Compute, Used: measured(gib)}}
	b.processes[200] = info(200, 77)
	b.readings["GPU-1"] = r
	events := len(s.History().Events(0))
	snap := b.tick(again)

	if snap.Sequence != last.Sequence+1 || snap.Interval != last.Interval {
		t.Errorf("sequence %d at %v after %d at %v", snap.Sequence, snap.Interval, last.Sequence, last.Interval)
	}
	if p := snap.Rows[0]; p.ID != last.Rows[0].ID || bytesOf(t, p.Peak) != 70*gib || bytesOf(t, p.Used) != 20*gib {
		t.Errorf("row %+v, peak %v, used %v", p.ID, p.Peak, p.Used)
	}
	if len(snap.Ended) != 2 || snap.Ended[0].Last.ID.Process.PID != 101 || !reflect.DeepEqual(snap.Ended[1], last.Ended[0]) {
		t.Errorf("ended: %+v", snap.Ended)
	}
	kinds := map[snapshot.EventKind]int{}
	fresh := again.History().Events(0)
	for _, e := range fresh[:len(fresh)-events] {
		kinds[e.Kind]++
	}
	if want := map[snapshot.EventKind]int{snapshot.EventStarted: 1, snapshot.EventEnded: 1, snapshot.EventDriverBack: 1}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("events since: %v, want %v", kinds, want)
	}
	past, ok := again.History().At(last.Time)
	if !ok || len(past.Rows) != 2 || past.Rows[1].ID.Process.PID != 101 {
		t.Errorf("the last moment before: %v, %+v", ok, past)
	}
}

// A count that rose between save and restore is an event.
func TestRestoredSamplerKeepsOutOfMemoryCounts(t *testing.T) {
	for _, c := range []struct {
		later int64
		want  int
	}{{2, 0}, {3, 1}} {
		b := newBox(1)
		count := int64(2)
		report := func() {
			b.answer(100, "GPU-0", gib, gib, 0, gib)
			b.answers[0].Report.Devices[0].Allocators[0].OutOfMemoryCount = &count
		}
		s := b.sampler()
		report()
		b.tick(s)
		again := b.successor(saved(t, s))
		count = c.later
		report()
		b.tick(again)
		events := 0
		for _, e := range again.History().Events(0) {
			if e.Kind == snapshot.EventOutOfMemory {
				events++
			}
		}
		if events != c.want {
			t.Errorf("2, then %d: %d events", c.later, events)
		}
	}
}

func TestUpgradeIsLogged(t *testing.T) {
	b := newBox(2)
	s := b.sampler()
	whole := b.tick(s)
	mismatch := &nvml.Error{Name: "ERROR_LIB_RM_VERSION_MISMATCH", Kind: nvml.ErrVersionMismatch}
	b.readErr["GPU-0"], b.readErr["GPU-1"] = mismatch, mismatch
	kaput := b.tick(s)
	if kaput.Driver.State != snapshot.DriverGone {
		t.Fatalf("the driver is %s", kaput.Driver.State)
	}
	kept := saved(t, s)
	clear(b.readErr)

	// The new library may not be installed yet: the box stays as it was.
	b.openErr = nvml.ErrLibraryNotFound
	again := b.successor(kept)
	snap := b.tick(again)
	if snap.Driver.State != snapshot.DriverGone || snap.Driver.Version != "550.163.01" || len(snap.GPUs) != 2 ||
		snap.GPUs[1].Name != "NVIDIA H100 80GB HBM3" || bytesOf(t, snap.GPUs[1].LastUsed) != 10*gib || len(snap.Rows) != 2 {
		t.Errorf("before the library is there: %+v", snap)
	}
	b.openErr, b.version = nil, "560.35.03"
	b.tick(again)
	snap = b.tick(again)
	if snap.Driver.State != snapshot.DriverOK || snap.Driver.Version != "560.35.03" || snap.GPUs[0].State != snapshot.GPUOK {
		t.Errorf("with the library: %+v", snap.Driver)
	}
	const want = "the driver was upgraded: 550.163.01 → 560.35.03; restarted to read it"
	upgrades := 0
	for _, e := range again.History().Events(0) {
		if e.Message == want && e.Kind == snapshot.EventDriverBack {
			upgrades++
		}
	}
	past, ok := again.History().At(kaput.Time)
	if !ok || past.Driver.State != snapshot.DriverGone || past.Driver.Version != "550.163.01" || !past.Driver.RetryAt.IsZero() {
		t.Errorf("while it was away: %v, %+v", ok, past)
	}
	past, ok = again.History().At(whole.Time)
	if !ok || past.Driver.State != snapshot.DriverOK || past.Driver.Version != "550.163.01" {
		t.Errorf("before the upgrade: %v, %+v", ok, past)
	}
	if upgrades != 1 {
		t.Errorf("%d upgrades in %+v", upgrades, again.History().Events(0))
	}
}

func TestRestoredAlertIsClearedUnlessRaisedAgain(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	b.tick(s)
	b.readErr["GPU-0"] = lost()
	for range 3 {
		b.tick(s)
	}
	if len(s.Latest().Alerts) == 0 {
		t.Fatal("a lost GPU raises no alert")
	}
	alarmed := s.Latest().Time
	clear(b.readErr)
	again := b.successor(saved(t, s))
	after := b.tick(again)
	for _, c := range []struct {
		at   time.Time
		want int
	}{{alarmed, len(s.Latest().Alerts)}, {after.Time, 0}} {
		if past, ok := again.History().At(c.at); !ok || len(past.Alerts) != c.want {
			t.Errorf("at %v: %+v, want %d alerts", c.at, past, c.want)
		}
	}
}

func TestUnreadableStateIsLogged(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	b.tick(s)
	kept := saved(t, s)
	encoded := func(change func(*roster)) []byte {
		r := s.roster()
		change(r)
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(r); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for _, c := range []struct {
		name, want string
		in         []byte
	}{
		{"nothing", "EOF", nil},
		{"cut", "EOF", kept[:len(kept)/2]},
		{"newer", "another version", encoded(func(r *roster) { r.Version++ })},
		{"newer samples", "another version", encoded(func(r *roster) { r.Samples.Layout++ })},
		{"without rows", "of other rows", encoded(func(r *roster) { r.Rows = nil })},
		{"something else", "restore", []byte(strings.Repeat("ELF", 1000))},
	} {
		again := b.successor(c.in)
		events := again.History().Events(0)
		if len(events) != 1 || !strings.Contains(events[0].Message, "the history before is lost") || !strings.Contains(events[0].Message, c.want) {
			t.Errorf("%s: the log says %+v", c.name, events)
		}
		if snap := b.tick(again); snap.Sequence != 0 || len(snap.Rows) != 1 || snap.Driver.State != snapshot.DriverOK {
			t.Errorf("%s: it does not go on: %+v", c.name, snap)
		}
	}
}

// Every field of a snapshot is kept, also those that this package's fakes leave
// empty.
func TestEveryFieldIsKept(t *testing.T) {
	for _, snap := range []*snapshot.Snapshot{
		snapshottest.DrawnBox(), snapshottest.SixteenGPUs(), snapshottest.NoDriver(),
		snapshottest.Hostile(snapshottest.DayOne(), "\x1b[31m\xff\u202e"),
	} {
		snap.Driver.Err = nil
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(&roster{Latest: snap}); err != nil {
			t.Fatal(err)
		}
		var got roster
		if err := gob.NewDecoder(&b).Decode(&got); err != nil || !reflect.DeepEqual(got.Latest, snap) {
			t.Errorf("%v: %+v\nwas\n%+v", err, got, snap)
		}
	}
}

func TestSaveReportsErrors(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	b.tick(s)
	r, w := io.Pipe()
	_ = r.Close() // it always succeeds
	if err := s.Save(w); err == nil {
		t.Error("saved into a closed pipe")
	}
}

// BenchmarkHandover is the cost of saving and restoring an hour of full resolution
// and all of the coarser past.
func BenchmarkHandover(bench *testing.B) {
	for _, size := range []struct {
		name            string
		gpus, processes int
	}{{"8x8", 8, 8}, {"16x64", 16, 64}} {
		bench.Run(size.name, func(bench *testing.B) {
			b := fullBox(size.gpus, size.processes)
			s := b.sampler()
			for i := range 4200 {
				b.use(b.devices[i%size.gpus].UUID, gib+quantity.Bytes(i)<<20)
				b.tick(s)
			}
			var kept bytes.Buffer
			bench.ReportAllocs()
			for bench.Loop() {
				kept.Reset()
				if err := s.Save(&kept); err != nil {
					bench.Fatal(err)
				}
				if again := b.successor(kept.Bytes()); len(again.History().Events(0)) != len(s.History().Events(0)) {
					bench.Fatal("it does not go on")
				}
			}
			bench.ReportMetric(float64(kept.Len()), "B")
		})
	}
}
