package report

import (
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

func TestGPUsAreMeasuredOverRecordedTime(t *testing.T) {
	b := newBox("gpu", 2)
	for m := range 30 { // the first 30 minutes of two hours
		covered := time.Minute
		b.AddMinute(&recording.GPUMinute{
			Time: at(m), GPUUUID: gpuA, Covered: covered, Used: recording.Sum{Min: gib(30), Mean: gib(40), Max: gib(60 + float64(m)/100)}, Free: gib(40),
			Allocated: gib(20), Cached: gib(12), Fragmented: gib(4), Other: gib(4), Utilization: busy(50),
		})
		b.AddMinute(&recording.GPUMinute{Time: at(m), GPUUUID: gpuB, Covered: covered / 2, Used: level80(8)})
	}
	r := b.report()
	if r.Period.Seconds != 7200 || r.Period.RecordedSeconds != 1800 || len(r.GPUs) != 2 {
		t.Fatalf("%+v, %d GPUs", r.Period, len(r.GPUs))
	}
	a := r.GPUs[0]
	for _, c := range []struct {
		what           string
		of             *schema.ReportAmount
		hours, percent float64
	}{
		{"used", a.Memory.Used, 20, 50}, {"free", a.Memory.Free, 20, 50}, {"allocated", a.Memory.Allocated, 10, 25}, {"cached", a.Memory.Cached, 6, 15},
		{"fragmented", a.Memory.Fragmented, 2, 5}, {"other", a.Memory.Other, 2, 5}, {"used of B", r.GPUs[1].Memory.Used, 2, 10},
	} {
		if c.of == nil {
			t.Errorf("%s is unknown", c.what)
			continue
		}
		about(t, c.what, figure(c.of.GiBHours, true), c.hours)
		about(t, c.what+" %", c.of.Percent, c.percent)
	}
	about(t, "utilization", a.UtilizationPercent, 50)
	about(t, "idle", a.IdleHours, 0)
	if a.PeakBytes != gib(60.29) || !time.Time(a.PeakTime).Equal(at(29)) {
		t.Errorf("peak %v at %v", a.PeakBytes, time.Time(a.PeakTime))
	}
	if second := r.GPUs[1]; second.Memory.Allocated != nil || second.UtilizationPercent.Known() || second.IdleHours.Known() || a.Memory.Unknown != nil {
		t.Errorf("%+v", second)
	}
}

// TestALostGPUHasNoParts: although probes on a lost GPU still report, the lost time counts only as
// recorded, even in a bucket of the timeline in which the GPU also answers.
func TestALostGPUHasNoParts(t *testing.T) {
	b := newBox("gpu", 40) // 40 hours: a timeline in buckets of ten minutes
	id := b.started(7, 0, "alice", "train.py")
	for m := range 20 {
		known := recording.GPUMinute{Time: at(m), GPUUUID: gpuA, Covered: time.Minute, Used: level80(40), Allocated: gib(28), Cached: gib(12)}
		if m%10 >= 5 {
			known.Used = recording.Sum{}
		}
		b.AddMinute(&known)
	}
	b.AddFiveMinutes(&recording.Process5Min{Time: at(0), Row: id, Covered: fiveMinutes, Used: level80(40), Cached: gib(12)}, Count{})
	b.AddFiveMinutes(&recording.Process5Min{Time: at(5), Row: id, Covered: fiveMinutes, Cached: gib(12)}, Count{})
	r := b.report()
	g := r.GPUs[0]
	about(t, "recorded", figure(g.RecordedSeconds, true), 1200)
	about(t, "used", g.Memory.Used.Percent, 50)
	about(t, "cached", g.Memory.Cached.Percent, 15)
	about(t, "wasted", r.Groups[0].WastedGiBHours, 1)
	for _, point := range g.Timeline {
		if point.RecordedSeconds != 600 || point.UsedBytes != quantity.From(40*quantity.GiB, quantity.Computed) || point.CachedBytes != quantity.From(12*quantity.GiB, quantity.Computed) {
			t.Errorf("%+v", point)
		}
	}
}

func TestRescuesAreCounted(t *testing.T) {
	b := newBox("gpu", 2)
	for _, gpu := range []string{gpuA, gpuB} {
		b.AddMinute(&recording.GPUMinute{Time: at(0), GPUUUID: gpu, Covered: time.Minute, Used: level80(8)})
	}
	for i, a := range []snapshot.Event{
		{Kind: snapshot.EventRescued, GPUUUID: gpuA}, {Kind: snapshot.EventRescued, GPUUUID: gpuA}, {Kind: snapshot.EventNotRescued, GPUUUID: gpuB},
		{Kind: snapshot.EventFlush, GPUUUID: gpuA},
	} {
		a.Time = at(0).Add(time.Duration(i) * time.Second)
		b.AddEvent(&a, Stayed{})
	}
	r := b.report()
	for _, c := range []struct {
		of             schema.ReportFailures
		rescued, other int
	}{{r.GPUs[0].Failures, 2, 0}, {r.GPUs[1].Failures, 0, 1}, {r.Total.Failures, 2, 1}} {
		if c.of.Rescued != c.rescued || c.of.NotRescued != c.other {
			t.Errorf("%d rescued, %d not; want %d, %d", c.of.Rescued, c.of.NotRescued, c.rescued, c.other)
		}
	}
	if len(r.Events) != 4 {
		t.Errorf("%d events on the timeline", len(r.Events))
	}
}

func TestALostGPUIsNamed(t *testing.T) {
	b := newBox("gpu", 1)
	b.AddEvent(&snapshot.Event{Time: at(1), GPUUUID: gpuB, Kind: snapshot.EventGPULost}, Stayed{})
	if events := b.report().Events; len(events) != 1 || events[0].GPU != 1 {
		t.Errorf("%+v, want GPU 1", events)
	}
}

func TestALostGPUHasNoShare(t *testing.T) {
	b := newBox("gpu", 1)
	b.use(0, 30, 40, 50)
	for m := 30; m < 60; m++ {
		b.AddMinute(&recording.GPUMinute{Time: at(m), GPUUUID: gpuA, Covered: time.Minute})
	}
	m := b.report().GPUs[0].Memory
	about(t, "used", m.Used.Percent, 50)
	about(t, "free", m.Free.Percent, 50)
}

func TestIdleHoldingTakesMoreThanTenMinutes(t *testing.T) {
	for _, c := range []struct {
		name    string
		minutes func(b box)
		want    float64 // minutes
	}{
		{"ten minutes", func(b box) { b.use(0, 10, 8, 0); b.use(10, 20, 8, 50) }, 0},
		{"eleven minutes", func(b box) { b.use(0, 11, 8, 0); b.use(11, 20, 8, 50) }, 11},
		{"busy", func(b box) { b.use(0, 30, 8, 1) }, 0},
		{"little memory", func(b box) { b.use(0, 30, 1, 0) }, 0},
		{"a gap", func(b box) { b.use(0, 8, 8, 0); b.use(9, 17, 8, 0) }, 0},
		{"twice", func(b box) { b.use(0, 12, 8, 0); b.use(12, 13, 8, 9); b.use(13, 28, 8, 0) }, 27},
	} {
		b := newBox("gpu", 1)
		c.minutes(b)
		t.Run(c.name, func(t *testing.T) { about(t, "idle", b.report().GPUs[0].IdleHours, c.want/60) })
	}
}

// TestMinutesOfAMonthTakeLittleMemory: a month of 64 idle GPUs is 2.8 million minutes.
func TestMinutesOfAMonthTakeLittleMemory(t *testing.T) {
	const month = 30 * 24 * 60
	var idle, alternating minuteSet
	for m := range month {
		idle.add(at(m))
		if m%2 == 0 {
			alternating.add(at(m))
			alternating.add(at(m - 2)) // the minute is in the set already
		}
	}
	if len(idle) != 1 || len(alternating) != month/2 {
		t.Errorf("%d and %d runs", len(idle), len(alternating))
	}
	for _, c := range []struct {
		set  minuteSet
		from int
		want int64
	}{{idle, -3, 2}, {idle, 7, 5}, {idle, month - 1, 1}, {idle, month, 0}, {alternating, 0, 3}, {alternating, 1, 2}, {alternating, -5, 0}, {nil, 0, 0}} {
		if got := c.set.count(at(c.from), 5); got != c.want {
			t.Errorf("from minute %d: %d, want %d", c.from, got, c.want)
		}
	}
}

func TestTimelineHasTheMeansAndThePeaks(t *testing.T) {
	b := newBox("gpu", 24)
	b.use(0, 6, 10, 40)
	b.use(60, 63, 10, 40)
	b.use(63, 66, 20, 60)
	points := b.report().GPUs[0].Timeline
	if len(points) != 2 { // 24 h in 240 buckets of 6 minutes; nothing is recorded between the two points
		t.Fatalf("%d points: %+v", len(points), points)
	}
	second := points[1]
	if !time.Time(second.Time).Equal(at(60)) || second.RecordedSeconds != 360 || second.UsedBytes.Or(0) != gib(15).Or(0) ||
		second.UsedMaxBytes != gib(20) || second.AllocatedBytes.Known() {
		t.Errorf("%+v", second)
	}
	about(t, "utilization", second.UtilizationPercent, 50)
}

func TestTimelinesOfAnyLengthAreShort(t *testing.T) {
	for _, length := range []time.Duration{time.Second, time.Minute, 90 * time.Minute, 24 * time.Hour, 30 * 24 * time.Hour, 41*24*time.Hour + 7*time.Second} {
		b := New(Question{From: start, To: start.Add(length)})
		b.AddGPU(snapshot.GPU{UUID: gpuA})
		for m := start; m.Before(start.Add(length)); m = m.Add(time.Minute) {
			b.AddMinute(&recording.GPUMinute{Time: m, GPUUUID: gpuA, Covered: time.Minute, Used: level80(1)})
		}
		if n := len(b.Report(start).GPUs[0].Timeline); n < 1 || n > mostBuckets {
			t.Errorf("%s: %d points", length, n)
		}
	}
}

func TestIdleServersAreNamed(t *testing.T) {
	b := newBox("gpu", 1)
	b.use(0, 60, 70, 0)
	r := b.Report(at(60))
	without := Lay(&r, "–", 10).Lists
	b.AddEvent(&snapshot.Event{Time: at(10), Kind: snapshot.EventIdleServer, GPUUUID: gpuA, Message: "vLLM (PID 4711) has served nothing for 10m"}, Stayed{})
	r = b.Report(at(60))
	lists := Lay(&r, "–", 10).Lists
	if last := lists[len(lists)-1]; len(lists) != len(without)+1 || last.Title != "Idle servers" || len(last.Items) != 1 || last.Items[0] != (Item{"2026-11-21 00:10 GPU 0", "vLLM (PID 4711) has served nothing for 10m"}) {
		t.Errorf("%+v", lists)
	}
}
