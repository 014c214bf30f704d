package recording

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// TestSharesAddUpToTheGPU: any processes, with any figures unknown, together hold the GPU exactly while
// any process is on it, and draw all its energy.
func TestSharesAddUpToTheGPU(t *testing.T) {
	random := rand.New(rand.NewPCG(33, 1))
	maybe := func(limit int) snapshot.Int {
		if random.IntN(4) == 0 {
			return snapshot.Int{}
		}
		return quantity.From(random.IntN(limit+1), quantity.Driver)
	}
	var d divider
	joules, seconds := 0.0, 0
	for range 3000 {
		joules += float64(random.IntN(700))
		g := snapshot.GPU{UUID: "GPU-1", Sensors: metric.Sensors{Utilization: maybe(100), Energy: quantity.From(joules, quantity.Driver)}}
		at := []snapshot.InstanceID{{}}
		if random.IntN(3) == 0 {
			at = nil
			g.Utilization = snapshot.Int{}
			for i := range 3 {
				in := snapshot.Instance{ID: snapshot.InstanceID{MIG: true, GPU: uint32(i)}, Slices: 1 + i}
				g.Instances, at = append(g.Instances, in), append(at, in.ID)
			}
		}
		snap := &snapshot.Snapshot{GPUs: []snapshot.GPU{g}}
		on := map[snapshot.InstanceID]bool{}
		for pid := range random.IntN(5) {
			in := at[random.IntN(len(at))]
			on[in] = true
			p := snapshot.Process{ID: snapshot.RowID{Process: process.Identity{PID: pid}, GPUUUID: g.UUID, Instance: in}, SMUtilization: maybe(100)}
			if used, ok := maybe(80).Value(); ok {
				p.Used = quantity.From(quantity.Bytes(used)*quantity.GiB, quantity.Driver)
			}
			snap.Rows = append(snap.Rows, p)
		}
		d.divide(time.Second, time.Second, snap)
		want := 0.0 // the part of the GPU that has processes
		for in := range on {
			if !in.MIG {
				want = 1
			} else {
				want += float64(1+in.GPU) / 7
			}
		}
		var sum share
		for i, s := range d.rows {
			sum.add(s)
			if s.busy < 0 || s.idle < 0 || s.loaded && math.Abs(s.busy+s.idle-s.held) > 1 || !s.taken || s.loaded != g.Utilization.Known() {
				t.Fatalf("%d has %+v", i, s)
			}
		}
		drawn := d.drawn[g.UUID].Or(0)
		busy := float64(g.Utilization.Or(0)) / 100 * want * 1e9
		if math.Abs(sum.held-want*1e9) > 1 || math.Abs(sum.energy-want*drawn) > 1e-6 || math.Abs(sum.busy-busy) > 1 {
			t.Fatalf("%+v, want %v s busy and %v s held, %v J: %+v", sum, busy/1e9, want, want*drawn, snap)
		}
		seconds++
	}
	if seconds == 0 || joules == 0 {
		t.Fatal("nothing was divided")
	}
}

// TestEnergyThatCannotBeKnownIsAGap: energy is unknown after a gap of samples, after a failed reading,
// and after the counter went back.
func TestEnergyThatCannotBeKnownIsAGap(t *testing.T) {
	var d divider
	for i, c := range []struct {
		counter snapshot.Float
		elapsed time.Duration
		want    snapshot.Float
	}{
		{quantity.From(0.0, quantity.Driver), 0, snapshot.Float{}}, // the first reading
		{quantity.From(500.0, quantity.Driver), time.Second, quantity.From(500.0, quantity.Computed)},
		{quantity.From(500.0, quantity.Driver), time.Second, quantity.From(0.0, quantity.Computed)},
		{quantity.From(9.0, quantity.Driver), time.Second, snapshot.Float{}}, // the driver was loaded again
		{quantity.From(409.0, quantity.Driver), time.Second, quantity.From(400.0, quantity.Computed)},
		{quantity.From(409.0, quantity.Driver), 0, snapshot.Float{}}, // no time has passed
		{snapshot.Float{}, time.Second, snapshot.Float{}},
		{quantity.From(1209.0, quantity.Driver), time.Second, snapshot.Float{}},
		{quantity.From(99999.0, quantity.Driver), time.Hour, snapshot.Float{}}, // the box was suspended
	} {
		g := snapshot.GPU{UUID: "GPU-1", Sensors: metric.Sensors{Energy: c.counter}}
		d.divide(min(c.elapsed, 2*time.Second), c.elapsed, &snapshot.Snapshot{GPUs: []snapshot.GPU{{UUID: "GPU-0"}, g}})
		if got := d.drawn[g.UUID]; got != c.want {
			t.Errorf("tick %d: %v J, want %v", i, got, c.want)
		}
	}
}

// TestEnergyIsOfThoseThatDrewIt: two processes take turns between two readings of the counter.
func TestEnergyIsOfThoseThatDrewIt(t *testing.T) {
	var d divider
	drawn := map[int]float64{}
	for second := range 101 {
		pid, watts := 1, 300.0
		if second%10 > 3 {
			pid, watts = 2, 100
		}
		g := snapshot.GPU{UUID: "GPU-1", Sensors: metric.Sensors{
			Power:  quantity.From(1.1*watts, quantity.Driver), // the sensor reads 10 % too high; the counter is right
			Energy: quantity.From(float64(second/10)*1500, quantity.Driver),
		}}
		p := snapshot.Process{ID: snapshot.RowID{Process: process.Identity{PID: pid}, GPUUUID: g.UUID}}
		d.divide(time.Second, time.Second, &snapshot.Snapshot{GPUs: []snapshot.GPU{g}, Rows: []snapshot.Process{p}})
		drawn[pid] += d.rows[0].energy
	}
	if sum := drawn[1] + drawn[2]; math.Abs(sum-15000) > 150 || math.Abs(drawn[1]-9000) > 900 {
		t.Errorf("%v J of 9000 and 6000", drawn)
	}
}

// TestEnergyAfterAGap: energy that was estimated from the power before a gap is not counted again
// by the counter.
func TestEnergyAfterAGap(t *testing.T) {
	var d divider
	sum, gaps := 0.0, 0
	for second := range 1001 {
		elapsed := time.Second
		if second%31 == 7 {
			elapsed, gaps = 2*time.Second, gaps+1
		}
		g := snapshot.GPU{UUID: "GPU-1", Sensors: metric.Sensors{
			Power:  quantity.From(300.0, quantity.Driver),
			Energy: quantity.From(float64((second+gaps)/10)*3000, quantity.Driver),
		}}
		p := snapshot.Process{ID: snapshot.RowID{Process: process.Identity{PID: 1}, GPUUUID: g.UUID}}
		d.divide(time.Second, elapsed, &snapshot.Snapshot{GPUs: []snapshot.GPU{g}, Rows: []snapshot.Process{p}})
		sum += d.rows[0].energy
	}
	if drawn := float64(1000+gaps) * 300; sum > 1.005*drawn || sum < .95*drawn {
		t.Errorf("%.0f J of %.0f", sum, drawn)
	}
}

// TestSharedTimeIsOfThoseThatComputeOrHold: one process computes with a little memory, the other holds
// more and computes nothing. The idle time is divided by memory, or equally if memory is unknown.
func TestSharedTimeIsOfThoseThatComputeOrHold(t *testing.T) {
	row := func(pid int, used quantity.Bytes, sm int) snapshot.Process {
		return snapshot.Process{
			ID:   snapshot.RowID{Process: process.Identity{PID: pid}, GPUUUID: "GPU-1"},
			Used: quantity.From(used*quantity.GiB, quantity.Driver), SMUtilization: quantity.From(sm, quantity.Driver),
		}
	}
	memoryUnknown, loadUnknown := row(2, 0, 0), row(2, 60, 0)
	memoryUnknown.Used, loadUnknown.SMUtilization = snapshot.Bytes{}, snapshot.Int{}
	g := snapshot.GPU{UUID: "GPU-1", Sensors: metric.Sensors{Utilization: quantity.From(60, quantity.Driver)}}
	for _, c := range []struct {
		rows []snapshot.Process
		want []share
	}{
		{[]snapshot.Process{row(1, 20, 60), row(2, 60, 0)}, []share{{held: .7e9, busy: .6e9, idle: .1e9}, {held: .3e9, idle: .3e9}}},
		{[]snapshot.Process{row(1, 20, 60), loadUnknown}, []share{{held: .25e9, busy: .15e9, idle: .1e9}, {held: .75e9, busy: .45e9, idle: .3e9}}},
		{[]snapshot.Process{row(1, 20, 60), memoryUnknown}, []share{{held: .8e9, busy: .6e9, idle: .2e9}, {held: .2e9, idle: .2e9}}},
		{[]snapshot.Process{row(1, 0, 0), row(2, 0, 0)}, []share{{held: .5e9, busy: .3e9, idle: .2e9}, {held: .5e9, busy: .3e9, idle: .2e9}}},
	} {
		var d divider
		d.divide(time.Second, time.Second, &snapshot.Snapshot{GPUs: []snapshot.GPU{g}, Rows: c.rows})
		for i, want := range c.want {
			if s := d.rows[i]; !(math.Abs(s.held-want.held) <= 1 && math.Abs(s.busy-want.busy) <= 1 && math.Abs(s.idle-want.idle) <= 1) || s.metered {
				t.Errorf("%d has %+v, want %+v", i+1, s, want)
			}
		}
		d.divide(0, 0, &snapshot.Snapshot{GPUs: []snapshot.GPU{g}, Rows: c.rows})
		if d.rows[0] != (share{}) {
			t.Errorf("in no time there is %+v", d.rows[0])
		}
	}
}

// TestEnergyOfAMinute: the energy of a minute is known if it is known for any of its ticks.
func TestEnergyOfAMinute(t *testing.T) {
	var s gpuSums
	now := start.UnixNano()
	s.begin(now)
	for i, drawn := range []snapshot.Float{{}, quantity.From(500.0, quantity.Computed), {}} {
		if s.metered != (i == 2) {
			t.Errorf("tick %d: known %v", i, s.metered)
		}
		s.add(time.Second, &snapshot.GPU{}, &snapshot.Snapshot{}, drawn)
	}
	if !s.metered || s.energy != 500 {
		t.Errorf("%v J, known %v", s.energy, s.metered)
	}
}

// TestInstanceHasItsShareOfTheSlices: an A30 has four, where most GPUs have seven.
func TestInstanceHasItsShareOfTheSlices(t *testing.T) {
	for whole, want := range map[int]time.Duration{0: time.Second, 7: time.Second, 4: 7 * time.Second / 4} {
		var d divider
		id := snapshot.InstanceID{MIG: true, GPU: 1}
		d.divide(7*time.Second, 7*time.Second, &snapshot.Snapshot{
			GPUs: []snapshot.GPU{{UUID: "GPU-1", Instances: []snapshot.Instance{{ID: id, Slices: 1, Whole: whole}}}},
			Rows: []snapshot.Process{{ID: snapshot.RowID{GPUUUID: "GPU-1", Instance: id, Process: process.Identity{PID: 7}}}},
		})
		if got := time.Duration(d.rows[0].held); got != want {
			t.Errorf("one of %d slices holds %v of 7 s, want %v", whole, got, want)
		}
	}
}

// TestInstancesWithoutSlicesShareEqually: a driver may not say how large an instance is.
func TestInstancesWithoutSlicesShareEqually(t *testing.T) {
	var d divider
	g := snapshot.GPU{UUID: "GPU-1"}
	snap := &snapshot.Snapshot{}
	for i := range 2 {
		id := snapshot.InstanceID{MIG: true, GPU: uint32(i)}
		g.Instances = append(g.Instances, snapshot.Instance{ID: id})
		snap.Rows = append(snap.Rows, snapshot.Process{ID: snapshot.RowID{GPUUUID: g.UUID, Instance: id, Process: process.Identity{PID: 7 + i}}})
	}
	snap.GPUs = []snapshot.GPU{g}
	d.divide(2*time.Second, 2*time.Second, snap)
	for i, s := range d.rows {
		if s.held != float64(time.Second) {
			t.Errorf("row %d held %v ns of 2 s", i, s.held)
		}
	}
}
