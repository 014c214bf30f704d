package simulator_test

import (
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/nvml"
	"vramscope/probe"
	"vramscope/sampler/simulator"
)

func TestFiguresStaySaneForEightHours(t *testing.T) {
	if testing.Short() {
		t.Skip("long, on one goroutine")
	}
	watch(t, simulator.Options{Seed: 0}, 8*time.Hour, 11*time.Second)
}

func TestFiguresAreSaneInEveryPrelude(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, prelude := range []time.Duration{time.Second, 333*time.Second + time.Millisecond, simulator.MaxPrelude} {
		watch(t, simulator.Options{Prelude: prelude, GPUs: simulator.MaxGPUs}, 2*time.Minute, 3*time.Second)
	}
}

func TestFiguresAreSaneOnEveryBox(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for gpus := 1; gpus <= simulator.MaxGPUs; gpus += 3 {
		watch(t, simulator.Options{Seed: uint64(gpus), GPUs: gpus}, 25*time.Minute, 5*time.Second)
	}
}

// watch samples a box for a time and checks its figures.
func watch(t *testing.T, options simulator.Options, long, every time.Duration) {
	t.Helper()
	b := open(t, options)
	for at := -options.Prelude; at <= long; at += every {
		m := b.look(at)
		for i := range m.Readings {
			if m.Errors[i] == "" {
				checkReading(t, &m.Readings[i])
			}
		}
		checkProcesses(t, b, m)
		for _, a := range m.Answers {
			checkAnswer(t, m, a)
		}
		if t.Failed() {
			t.Fatalf("seed %d, %d GPUs, after %s", options.Seed, options.GPUs, at)
		}
	}
}

func checkMemory(t *testing.T, m nvml.Memory, processes quantity.Bytes) {
	t.Helper()
	total, used, free, reserved := m.Total.Or(-1), m.Used.Or(-1), m.Free.Or(-1), m.Reserved.Or(-1)
	if used < 0 || free < 0 || reserved < 0 || total != used+free+reserved {
		t.Errorf("total %d, used %d, free %d, reserved %d", total, used, free, reserved)
	}
	if processes > used || used-processes > 64*quantity.MiB {
		t.Errorf("used %d, but processes use %d", used, processes)
	}
}

func checkReading(t *testing.T, r *nvml.Reading) {
	t.Helper()
	sum := map[nvml.InstanceID]quantity.Bytes{}
	var all quantity.Bytes
	last := -1
	for _, p := range r.Processes {
		used := p.Used.Or(-1)
		if used < 0 || p.PID <= last || p.Type.String() == "" {
			t.Errorf("%+v after PID %d", p, last)
		}
		if p.Instance.MIG != r.MIGEnabled || p.SMUtilization.Known() == r.MIGEnabled {
			t.Errorf("%+v on a GPU with MIG %v", p, r.MIGEnabled)
		}
		last = p.PID
		all += used
		sum[p.Instance] += used
	}
	checkMemory(t, r.Memory, all)
	for _, i := range r.Instances {
		checkMemory(t, i.Memory, sum[i.ID])
	}
	if r.Utilization.Known() == r.MIGEnabled {
		t.Error("utilisation is there exactly where MIG is off")
	}
	if u := r.Utilization.Or(0); u < 0 || u > 100 {
		t.Errorf("utilisation %d", u)
	}
	if c := r.Temperature.Or(0); c < 30 || c > 80 {
		t.Errorf("%d °C", c)
	}
	if w := r.Power.Or(0); w < 60 || w > r.Device.PowerLimit.Or(0) {
		t.Errorf("%f W", w)
	}
}

func checkProcesses(t *testing.T, b *box, m moment) {
	t.Helper()
	seen := map[int]bool{}
	now := b.clock.Now()
	for _, r := range m.Readings {
		for _, p := range r.Processes {
			if seen[p.PID] {
				t.Errorf("PID %d twice", p.PID)
			}
			seen[p.PID] = true
			info, ok := m.Processes[p.PID]
			if !ok {
				if p.PID != 184 {
					t.Errorf("PID %d is on a GPU but not in /proc", p.PID)
				}
				continue
			}
			if info.Identity.Foreign() || info.Identity.PID != p.PID || info.User == "" || len(info.Command) == 0 {
				t.Errorf("%+v", info)
			}
			if info.Started.After(now) || info.CPU.Or(-1) < 0 || info.Memory.Or(-1) < 0 {
				t.Errorf("%+v at %s", info, now)
			}
		}
	}
	if used := m.Host.MemoryUsed.Or(0); used <= 0 || used > m.Host.MemoryTotal.Or(0) {
		t.Errorf("%+v", m.Host)
	}
}

func checkAnswer(t *testing.T, m moment, a probe.Answer) {
	t.Helper()
	if info, ok := m.Processes[a.Process.PID]; !ok || info.Identity != a.Process || a.Hello.StartTime != a.Process.StartTime {
		t.Errorf("the probe of %+v is of no process in /proc: %+v", a.Process, info)
	}
	if len(a.Hello.Runtimes) != 1 || a.Hello.Proto != probe.Version || len(a.Report.Devices) != 1 {
		t.Fatalf("%+v", a)
	}
	device := a.Report.Devices[0]
	for _, al := range device.Allocators {
		if al.Reserved.Or(0) != al.Allocated.Or(0)+al.Cached.Or(0)+al.Fragmented.Or(0) {
			t.Errorf("PID %d: the parts do not add up: %+v", a.Process.PID, al)
		}
		if al.Allocated.Or(0) < 0 || al.Cached.Or(0) < 0 || al.Fragmented.Or(0) < 0 || al.LargestFree.Or(0) > al.Cached.Or(0)+al.Fragmented.Or(0) {
			t.Errorf("PID %d: %+v", a.Process.PID, al)
		}
		switch al.Kind {
		case "pytorch":
			if al.Returnable.Or(0) != al.Cached.Or(0) || al.Pending.Or(0) > al.Allocated.Or(0) || al.Basis != probe.Stranded {
				t.Errorf("PID %d: %+v", a.Process.PID, al)
			}
		case "jax":
			if al.Returnable.Or(0) != 0 || al.Cached.Or(0) != al.LargestFree.Or(0) || al.OutOfMemoryCount.Known() || al.Basis != probe.LargestFree {
				t.Errorf("PID %d: %+v", a.Process.PID, al)
			}
		default:
			t.Errorf("allocator %q", al.Kind)
		}
	}
	checkOther(t, m, a)
}

// checkOther checks a process's device and other memory by the readings that are of the same moment
// as the probe's report.
func checkOther(t *testing.T, m moment, a probe.Answer) {
	t.Helper()
	device := a.Report.Devices[0]
	for _, r := range m.Readings {
		if !r.Time.Equal(a.At) {
			continue
		}
		for _, p := range r.Processes {
			if p.PID != a.Process.PID {
				continue
			}
			uuid := r.Device.UUID
			for _, i := range r.Instances {
				if i.ID == p.Instance {
					uuid = i.UUID
				}
			}
			if uuid != device.UUID {
				t.Errorf("PID %d is on %s, its probe reports %s", p.PID, uuid, device.UUID)
			}
			other := p.Used.Or(0) - device.Allocators[0].Reserved.Or(0)
			if other < 500*quantity.MiB || other > 3*quantity.GiB {
				t.Errorf("PID %d: other is %d", p.PID, other)
			}
		}
	}
}
