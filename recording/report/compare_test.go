package report

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// alike returns hours around a mean. likeness is their autocorrelation.
func alike(random *rand.Rand, hours int, mean, likeness float64) []float64 {
	values := make([]float64, hours)
	v := random.NormFloat64()
	for i := range values {
		v = likeness*v + math.Sqrt(1-likeness*likeness)*random.NormFloat64()
		values[i] = mean + v
	}
	return values
}

func TestNoiseIsRarelyTakenForADifference(t *testing.T) {
	for _, c := range []struct {
		hours    int
		likeness float64
		most     float64 // how many of a thousand comparisons of equal periods may exceed noise
	}{{8, 0, 20}, {24, 0, 20}, {24, 0.5, 35}, {168, 0.5, 25}, {168, 0.8, 35}} {
		random := rand.New(rand.NewPCG(1, uint64(c.hours)))
		wrong, judged := 0, 0
		const trials = 4000
		for range trials {
			line, _ := compared("used", "percent", alike(random, c.hours, 50, c.likeness), alike(random, c.hours, 50, c.likeness))
			if line.BeyondNoise != nil {
				judged++
				if *line.BeyondNoise {
					wrong++
				}
			}
		}
		if perMille := 1000 * float64(wrong) / trials; perMille > c.most || judged < trials/4 {
			t.Errorf("%d hours, likeness %v: %.1f of 1000 are beyond noise, %d of %d were judged", c.hours, c.likeness, perMille, judged, trials)
		} else {
			t.Logf("%d hours, likeness %v: %.1f of 1000, judged %d", c.hours, c.likeness, perMille, judged)
		}
	}
}

func TestADifferenceIsFound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 200 {
		if line, _ := compared("used", "percent", alike(random, 24, 50, 0.3), alike(random, 24, 53, 0.3)); line.BeyondNoise != nil && *line.BeyondNoise {
			found++
		}
	}
	if found < 190 {
		t.Errorf("%d of 200 differences of three standard deviations are found", found)
	}
}

func TestTooFewHoursAreNotJudged(t *testing.T) {
	unknown := math.NaN()
	for name, values := range map[string][]float64{
		"three hours": {1, 2, 3}, "three known ones": {1, unknown, 2, unknown, 3, unknown}, "one course": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
	} {
		if line, ok := compared("used", "percent", values, []float64{9, 3, 7, 4, 8, 2, 6, 9, 1}); !ok || line.BeyondNoise != nil || !line.Difference.Known() {
			t.Errorf("%s: %+v", name, line)
		}
	}
	if _, ok := compared("used", "percent", []float64{unknown}, nil); ok {
		t.Error("an unknown figure is compared")
	}
}

// The quantiles agree with printed tables.
func TestStudentsQuantiles(t *testing.T) {
	for freedom, want := range map[float64]float64{3: 5.841, 5: 4.032, 10: 3.169, 30: 2.750, 1e6: 2.576} {
		if got := quantileT(freedom); math.Abs(got-want) > 0.04*want {
			t.Errorf("%v degrees: %.3f, want %.3f", freedom, got, want)
		}
	}
}

func TestRatesOfErrorsAreCompared(t *testing.T) {
	for _, c := range []struct {
		first, second int64
		hours         time.Duration // the length of the second period; the first has 24 hours
		beyond        bool
	}{{0, 0, 24, false}, {0, 5, 24, false}, {0, 9, 24, true}, {12, 1, 24, true}, {24, 1, 1, false}, {3, 4, 24, false}, {400, 480, 24, true}} {
		line := rates("out of memory", number(c.first), number(c.second), 24*time.Hour, c.hours*time.Hour)
		if line.BeyondNoise == nil || *line.BeyondNoise != c.beyond {
			t.Errorf("%d in 24 h and %d in %d h: %v", c.first, c.second, c.hours, *line.BeyondNoise)
		}
	}
	if line := rates("out of memory", count(1), count(1), 0, time.Hour); line.BeyondNoise != nil || line.First.Known() {
		t.Errorf("%+v", line)
	}
}

func TestPeriodsAreCompared(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 2))
	period := func(used, steps float64) *Builder {
		b := newBox("gpu", 24)
		id := b.started(1, 0, "alice", "train.py")
		total := 0.0
		for m := range 24 * 60 {
			b.use(m, m+1, used+random.NormFloat64(), 40)
		}
		for m := 0; m < 24*60; m += 5 {
			total += steps * 300
			b.AddFiveMinutes(&recording.Process5Min{Time: at(m), Row: id, Covered: 5 * time.Minute, Used: level80(used)}, count(int(total)))
		}
		return b.Builder
	}
	before, after := period(60, 2), period(40, 2.5)
	after.processes[row(1, gpuA)].OutOfMemoryCount = count(0)
	for m := range 20 {
		before.AddEvent(&snapshot.Event{Kind: snapshot.EventOutOfMemory, Time: at(60 * m), GPUUUID: gpuA}, Stayed{})
	}
	lines := map[string]schema.ReportCompared{}
	for _, line := range after.Compare(before).Lines {
		lines[line.Name] = line
	}
	for name, want := range map[string]struct {
		first, second float64
		beyond        bool
	}{"used": {75, 50, true}, "utilization": {40, 40, false}, "out of memory": {20. / 24, 0, true}, "steps of train.py": {2, 2.5, true}} {
		line := lines[name]
		if line.BeyondNoise == nil || *line.BeyondNoise != want.beyond || math.Abs(line.First.Or(-99)-want.first) > 0.2 || math.Abs(line.Second.Or(-99)-want.second) > 0.2 {
			t.Errorf("%s: %+v", name, line)
		}
	}
	if _, ok := lines["cached"]; ok {
		t.Error("a part that was not reported is compared")
	}
}

func FuzzAnyRowsMakeAReport(f *testing.F) {
	f.Add([]byte("a few rows"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := newBox("gpu", 1)
		for i, x := range data {
			amount := quantity.From(quantity.Bytes(int8(x))<<33, quantity.Driver)
			when := at(int(x)%80 - 10)
			id := row(int(x)%5+1, gpuA)
			switch i % 6 {
			case 0:
				b.AddMinute(&recording.GPUMinute{Time: when, GPUUUID: gpuA, Covered: time.Duration(int8(x)) * time.Second, Used: recording.Sum{Min: amount, Mean: amount, Max: amount}, Utilization: busy(float64(x % 3))})
			case 1:
				p := processRow(id, "", "")
				p.First = when
				b.AddProcess(p)
			case 2:
				b.AddFiveMinutes(&recording.Process5Min{Time: when, Row: id, Covered: time.Duration(x) * time.Second, Used: recording.Sum{Min: amount, Mean: amount, Max: amount}}, count(int(x)))
			case 3:
				b.AddEvent(&snapshot.Event{Kind: snapshot.EventOutOfMemory, Time: when, GPUUUID: id.GPUUUID, Row: id}, Stayed{})
			case 4:
				b.alarm(int(x)%80-10, id)
			case 5:
				b.AddEvent(&snapshot.Event{Time: when, Kind: snapshot.EventFlush, GPUUUID: gpuA, Bytes: amount}, Stayed{})
			}
		}
		r := b.report()
		if c := r.Forecaster; c.Hits+c.False+c.ActedOn+c.Undecided != c.Alerts || c.Missed.Or(0)+c.Sudden.Or(0) > c.Fills.Or(0) {
			t.Errorf("%+v", c)
		}
		if _, err := schema.Encode(r); err != nil {
			t.Error(err)
		}
		if _, err := schema.Encode(b.Compare(b.Builder)); err != nil {
			t.Error(err)
		}
	})
}
