package sampler

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/nvml"
	"vramscope/sampler/snapshot"
)

// The history has the rows and memory of every tick, even while processes start and end and probes fall silent.
func TestHistoryHasWhatWasPublished(t *testing.T) {
	b := newBox(3)
	s := b.sampler()
	for _, want := range eventful(b, s, 1, 300) {
		at := want.Time
		got, ok := s.History().At(at)
		if !ok {
			t.Fatalf("nothing at %v", at)
		}
		comparePast(t, got, want)
	}
}

func comparePast(t *testing.T, got, want *snapshot.Snapshot) {
	t.Helper()
	if len(got.Rows) != len(want.Rows) || len(got.GPUs) != len(want.GPUs) || !got.Past {
		t.Fatalf("%v: %d rows and %d GPUs, want %d and %d", want.Time, len(got.Rows), len(got.GPUs), len(want.Rows), len(want.GPUs))
	}
	for i := range want.GPUs {
		g, w := got.GPUs[i], want.GPUs[i]
		if g.State != w.State || !same(g.Memory.Used, w.Memory.Used) {
			t.Fatalf("%v: GPU %d is %s with %v, want %s with %v", want.Time, i, g.State, g.Memory.Used, w.State, w.Memory.Used)
		}
	}
	for i := range want.Rows {
		p, w := got.Rows[i], want.Rows[i]
		if p.ID != w.ID || !same(p.Used, w.Used) || !same(p.Allocated, w.Allocated) || !same(p.Other, w.Other) {
			t.Fatalf("%v: row %d is %v %v %v, want %v %v %v", want.Time, i, p.Used, p.Allocated, p.Other, w.Used, w.Allocated, w.Other)
		}
	}
}

func same(a, b snapshot.Bytes) bool {
	x, okX := a.Value()
	y, okY := b.Value()
	return okX == okY && x == y
}

func TestHistoryHasAlerts(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	calm := b.tick(s)
	b.readErr["GPU-0"] = lost()
	for range 3 {
		b.tick(s)
	}
	alarmed := s.Latest()
	if len(alarmed.Alerts) == 0 {
		t.Fatal("a lost GPU raises no alert")
	}
	delete(b.readErr, "GPU-0")
	for range 20 {
		b.tick(s)
	}
	if n := len(s.Latest().Alerts); n != 0 {
		t.Fatalf("%d alerts after it came back", n)
	}
	for _, c := range []struct {
		at   time.Time
		want int
	}{{calm.Time, 0}, {alarmed.Time, len(alarmed.Alerts)}, {s.Latest().Time, 0}} {
		past, _ := s.History().At(c.at)
		if len(past.Alerts) != c.want {
			t.Errorf("at %v: %d alerts, want %d", c.at, len(past.Alerts), c.want)
		}
	}
}

func TestHistoryIsEmptyBeforeTheStart(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	if _, ok := s.History().At(start); ok {
		t.Error("a snapshot out of an empty history")
	}
	b.tick(s)
	if _, ok := s.History().At(start.Add(-time.Hour)); ok {
		t.Error("a snapshot from before the first tick")
	}
	for i, p := range s.History().Series(snapshot.SeriesKey{GPUUUID: "GPU-0"}, start.Add(-time.Hour), start.Add(-time.Minute), 10) {
		if p.Known {
			t.Errorf("bucket %d is known", i)
		}
	}
}

func BenchmarkTick(bench *testing.B) {
	for _, size := range []struct {
		name            string
		gpus, processes int
	}{{"8x8", 8, 8}, {"16x64", 16, 64}} {
		bench.Run(size.name, func(bench *testing.B) {
			b := fullBox(size.gpus, size.processes)
			s := b.sampler()
			b.tick(s)
			bench.ReportAllocs()
			for bench.Loop() {
				b.tick(s)
			}
		})
	}
}

// fullBox makes a box with the given number of processes on each GPU, all in /proc.
func fullBox(gpus, processes int) *box {
	b := newBox(gpus)
	for i, d := range b.devices {
		r := b.readings[d.UUID]
		r.Processes = nil
		for j := range processes {
			pid := 1000*(i+1) + j
			p := nvml.Process{PID: pid, Type: nvml.Compute, Used: measured(gib)}
			r.Processes = append(r.Processes, p)
			b.processes[pid] = info(pid, uint64(pid))
		}
		b.readings[d.UUID] = r
	}
	return b
}

// For a while, the box has a second GPU that only a probe names.
func TestHistoryHasTheGPUsOfEachMoment(t *testing.T) {
	b := withoutDriver()
	b.report(31, "GPU-x", 80*gib)
	first := b.answers
	s := b.sampler()
	early := b.tick(s).Time
	b.processes[500] = info(500, 3000)
	b.answer(500, "GPU-7", gib, 0, 0, 0)
	during := b.tick(s).Time
	b.answers = first
	late := b.tick(s).Time
	for _, tc := range []struct {
		at   time.Time
		want int
	}{{early, 1}, {during, 2}, {late, 1}} {
		then, ok := s.History().At(tc.at)
		if !ok || len(then.GPUs) != tc.want {
			t.Errorf("at %s there were %d GPUs, want %d", tc.at.Format(time.TimeOnly), len(then.GPUs), tc.want)
		}
	}
}

func TestHistoryRoundsHostMemoryAndCPUAlone(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	for range 5000 {
		v := random.Int64N(1 << random.IntN(50))
		for _, id := range []metric.ID{metric.CPU, metric.Host} {
			m, digits := &metric.Table[id], metric.Table[id].Digits
			got := m.Whole(float64(v))
			if off := max(got-v, v-got); off > v>>digits || v < 1<<digits && off > 0 || m.Whole(float64(got)) != got {
				t.Fatalf("%d to %d digits is %d", v, digits, got)
			}
		}
	}
	b := newBox(1)
	s := b.sampler(noDeadline)
	p := b.processes[100]
	p.CPU, p.Memory = quantity.From(103.4, quantity.System), measured(23456789012)
	b.processes[100] = p
	b.use("GPU-0", 12345678901)
	b.tick(s)
	at := b.tick(s).Time
	b.tick(s)
	past, ok := s.History().At(at)
	if !ok || bytesOf(t, past.Rows[0].Used) != 12345678901 {
		t.Fatalf("then: %+v", past.Rows)
	}
	host, cpu := float64(bytesOf(t, past.Rows[0].Host)), past.Rows[0].CPU.Or(0)
	if math.Abs(host/23456789012-1) > 0.002 || math.Abs(cpu/103.4-1) > 0.016 {
		t.Errorf("host memory %v, CPU %v", host, cpu)
	}
}

// The past has the sensors that the table calls recorded or constant.
func TestHistoryKeepsTheSensorsOfTheTable(t *testing.T) {
	b := newBox(1)
	s := b.sampler(noDeadline)
	r := b.readings["GPU-0"]
	for id := metric.FirstSensor; id < metric.Count; id++ {
		r.Set(id, quantity.From(float64(id), quantity.Driver))
	}
	b.devices[0].TemperatureSlowdown, b.devices[0].PowerLimit = r.TemperatureSlowdown, r.PowerLimit
	b.readings["GPU-0"] = r
	b.tick(s)
	at := b.tick(s).Time
	r.Sensors = metric.Sensors{}
	b.readings["GPU-0"] = r
	b.tick(s)
	past, ok := s.History().At(at)
	if !ok || len(past.GPUs) != 1 {
		t.Fatalf("then: %+v", past)
	}
	for id := metric.FirstSensor; id < metric.Count; id++ {
		want := -1.0
		if metric.Table[id].History != metric.Forgotten {
			want = float64(id)
		}
		if got := past.GPUs[0].Value(id).Or(-1); got != want {
			t.Errorf("%s was %v, want %v", metric.Table[id].Name, got, want)
		}
	}
}
