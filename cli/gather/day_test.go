package gather

import (
	"encoding/json"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/action"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/nvml"
	"vramscope/recording"
	evaluation "vramscope/recording/report"
	"vramscope/sampler"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// TestReportIsWhatAnotherSamplerSums: the report of a day (with VRAMSCOPE_FULL; else of an hour
// around midnight) agrees within .02 % with secondSampler, which reads the same driver once a second and
// implements the rules of docs/report.md independently.
func TestReportIsWhatAnotherSamplerSums(t *testing.T) {
	begin, length := time.Date(2026, 11, 20, 23, 30, 0, 0, time.UTC), time.Hour
	if os.Getenv("VRAMSCOPE_FULL") != "" {
		begin, length = begin.Add(-12*time.Hour), 24*time.Hour
	}
	now := begin
	clock := func() time.Time { return now }
	box := simulator.New(simulator.Options{Seed: 33, Clock: clock})
	sampling := sampler.New(sampler.Options{Devices: box, Probes: box, Processes: box, Clock: clock, Simulated: true, Deadline: time.Minute, Single: true})
	directory := t.TempDir()
	w := recording.Start(directory, recording.Options{})
	second := secondSampler{box: box, energy: map[string]float64{}, back: map[string]int{}, processes: map[string]*usedBy{}}
	for now.Before(begin.Add(length - time.Second)) {
		now = now.Add(time.Second)
		snap := sampling.Tick(now)
		for w.Append(snap, nil) != nil { // a queue of 30 ticks is full
			time.Sleep(time.Millisecond)
		}
		second.look(t)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	worst, groups := 0.0, 0
	for by, name := range map[string]func(*process.Info) string{
		"user": func(p *process.Info) string { return p.User },
		"job": func(p *process.Info) string {
			if p.Job.ID == "" {
				return "no job"
			}
			return p.Job.Kind + " " + p.Job.ID
		},
		"command": func(p *process.Info) string {
			first := slices.IndexFunc(p.Command[1:], func(argument string) bool { return !strings.HasPrefix(argument, "-") })
			if !strings.Contains(p.Command[0], "python") {
				first = -1
			}
			if program := p.Command[first+1]; !path.IsAbs(program) {
				return program
			}
			return path.Base(p.Command[first+1])
		},
	} {
		b, err := Report(r, evaluation.Question{From: begin, To: begin.Add(length), Oldest: begin.Add(time.Second), Newest: now, By: by}, &action.Log{Directory: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]*usedBy{}
		for _, p := range second.processes {
			n := name(&p.process)
			if want[n] == nil {
				want[n] = &usedBy{}
			}
			want[n].add(p.amounts)
			want[n].doubt.add(p.doubt)
		}
		report := b.Report(now)
		for i := range report.Groups {
			g := &report.Groups[i]
			other := want[g.Name]
			delete(want, g.Name)
			if other == nil {
				t.Errorf("by %s: the other sampler has no %q", by, g.Name)
				continue
			}
			groups++
			for figure, d := range other.deviations(&other.doubt, g) {
				if worst = max(worst, d); d > .0002 {
					t.Errorf("by %s: %s of %q is %.3f %% off: %+v, %s", by, figure, g.Name, 100*d, other.amounts, show(g))
				}
			}
		}
		for name, a := range want {
			t.Errorf("by %s: the report has no %q: %+v", by, name, a.amounts)
		}
	}
	t.Logf("%s, %d groups, %d processes: at most %.3f %% off", length, groups, len(second.processes), 100*worst)
	if groups < 30 {
		t.Errorf("%d groups", groups)
	}
}

// amounts hold GPU·s, GiB·s, bytes and J.
type amounts struct{ held, used, idle, memory, peak, energy float64 }

func (a *amounts) add(o amounts) {
	a.held, a.used, a.idle = a.held+o.held, a.used+o.used, a.idle+o.idle
	a.memory, a.peak, a.energy = a.memory+o.memory, max(a.peak, o.peak), a.energy+o.energy
}

// deviations returns the share by which each figure of a group deviates. Amounts that are in doubt may be missing. A
// joule is the unit of the recording.
func (a *amounts) deviations(doubt *amounts, g *schema.ReportGroup) map[string]float64 {
	all := map[string]float64{}
	for name, c := range map[string]struct {
		want, doubt, unit float64
		got               snapshot.Float
	}{
		"held": {a.held, doubt.held, 3600, g.HeldGPUHours}, "used": {a.used, doubt.used, 3600, g.BusyGPUHours}, "idle": {a.idle, doubt.idle, 3600, g.IdleGPUHours},
		"GiB·h": {a.memory, doubt.memory, 3600, g.UsedGiBHours}, "peak": {a.peak, 0, 1, quantity.From(float64(g.PeakBytes.Or(0)), quantity.Driver)}, "kWh": {a.energy, doubt.energy, 3.6e6, g.EnergyKWh},
	} {
		if !c.got.Known() {
			if c.want > 0 {
				all[name] = math.Inf(1)
			}
			continue
		}
		got := c.got.Or(0) * c.unit
		off := max(got-c.want, c.want-c.doubt-got, 0)
		if off > 0 && (name != "kWh" || off > 1) {
			all[name] = off / c.want
		}
	}
	return all
}

type usedBy struct {
	process process.Info
	amounts
	doubt amounts // amounts of a GPU's first half minute after it was lost: the sampler looks for a lost GPU only every half minute
}

// secondSampler reads the driver. From the second reading on, each reading counts for the second before it.
type secondSampler struct {
	box       *simulator.Box
	energy    map[string]float64 // the counters at the last reading, by UUID
	back      map[string]int     // for how many readings a GPU that was lost has answered
	processes map[string]*usedBy
	began     bool
}

func (s *secondSampler) look(t *testing.T) {
	_, devices, err := s.box.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.began = true }()
	for _, device := range devices {
		r, err := s.box.Read(device)
		if err != nil { // the GPU is lost
			delete(s.energy, device.UUID)
			s.back[device.UUID] = 1
			continue
		}
		if s.back[device.UUID] > 0 {
			s.back[device.UUID]++
		}
		before, counted := s.energy[device.UUID]
		joules := r.Energy.Or(0) - before
		s.energy[device.UUID] = r.Energy.Or(0)
		if !counted || joules < 0 {
			joules = 0
		}
		if !s.began {
			continue
		}
		if len(r.Instances) == 0 {
			s.count(device.UUID, r.Processes, 1, r.Utilization.Known(), float64(r.Utilization.Or(0))/100, joules)
		}
		for _, instance := range r.Instances {
			in := slices.DeleteFunc(slices.Clone(r.Processes), func(p nvml.Process) bool { return p.Instance != instance.ID })
			s.count(device.UUID, in, float64(instance.Slices)/7, false, 0, joules)
		}
	}
}

// count adds one second of a GPU, or of a part of it, to its processes.
func (s *secondSampler) count(uuid string, on []nvml.Process, part float64, known bool, busy, joules float64) {
	memory, computing := 0.0, 0.0
	for _, p := range on {
		memory, computing = memory+float64(p.Used.Or(0)), computing+float64(p.SMUtilization.Or(0))
	}
	for _, p := range on {
		found := process.Info{Command: []string{"?"}, User: "?"}
		s.box.Processes(time.Time{}, []int{p.PID}, func(info *process.Info) { found = *info })
		key := found.Started.String() + string(rune(p.PID)) + uuid
		if s.processes[key] == nil {
			s.processes[key] = &usedBy{process: found}
		}
		ofMemory := float64(p.Used.Or(0)) / memory
		ofWork := ofMemory
		if computing > 0 {
			ofWork = float64(p.SMUtilization.Or(0)) / computing
		}
		held := part * (busy*ofWork + (1-busy)*ofMemory)
		a := amounts{held: held, memory: float64(p.Used.Or(0)) / (1 << 30), peak: float64(p.Used.Or(0)), energy: joules * held}
		if known {
			a.used, a.idle = part*busy*ofWork, part*(1-busy)*ofMemory
		}
		s.processes[key].add(a)
		if readings := s.back[uuid]; readings > 0 && readings <= 32 {
			s.processes[key].doubt.add(a)
		}
	}
}

func show(g *schema.ReportGroup) string { out, _ := json.Marshal(g); return string(out) }
