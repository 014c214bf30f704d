package report

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// mostGroups and mostEvents limit a document, because a month of short jobs has many groups.
const (
	mostGroups = 1000
	mostEvents = 1000
)

// Report returns the document of all rows added so far, with the time now.
func (b *Builder) Report(now time.Time) schema.Report {
	slices.SortFunc(b.gpus, func(x, y *gpuSums) int { return cmp.Or(cmp.Compare(x.Index, y.Index), cmp.Compare(x.UUID, y.UUID)) })
	b.countOutOfMemory()
	out := schema.Report{
		Schema: schema.ReportVersion, Time: schema.Time(now), Host: schema.Text(text.Clean(b.host)), Simulated: b.simulated,
		Period: b.period(), GPUs: []schema.ReportGPU{}, By: b.question.By, Flushes: b.flushes(),
	}
	var all memory
	for _, g := range b.gpus {
		if g.recorded == 0 {
			continue
		}
		gpu := g.document()
		gpu.Failures = b.failures(g.UUID, g.recorded)
		out.GPUs = append(out.GPUs, gpu)
		all.join(&g.memory)
	}
	out.Total = schema.ReportTotal{
		RecordedSeconds: all.recorded.Seconds(), Memory: all.document(), Failures: b.failures("", b.recordedTime()),
	}
	out.Total.UtilizationPercent, out.Total.IdleHours = all.load.mean(), all.idleHours()
	var wasted snapshot.Float
	for _, p := range b.processes {
		wasted = quantity.Sum(wasted, p.wasted)
	}
	out.Total.WastedGiBHours, out.Total.EnergyKWh = wasted, all.energy
	out.Groups, out.LeftOut = b.groups()
	out.Forecaster, out.Events = b.forecaster(b.shownEvents())
	sorted.Stable(out.Events, func(x, y schema.ReportEvent) int { return time.Time(x.Time).Compare(time.Time(y.Time)) })
	if extra := len(out.Events) - mostEvents; extra > 0 {
		out.Events, out.EventsLeftOut = out.Events[extra:], extra
	}
	return out
}

func (b *Builder) period() schema.ReportPeriod {
	from, to := b.question.bounds()
	length := to.Sub(from)
	// A tick counts for the time before it, which may be in the previous minute.
	recorded := min(b.recordedTime(), length)
	return schema.ReportPeriod{From: schema.Time(from), To: schema.Time(to), Seconds: length.Seconds(), RecordedSeconds: recorded.Seconds()}
}

func (b *Builder) countOutOfMemory() {
	for _, p := range b.processes {
		p.ooms, p.rescued, p.notRescued = Count{}, 0, 0
		if p.OutOfMemoryCount.Known() {
			p.ooms = number(0)
		}
	}
	for i := range b.events {
		p := b.processes[b.events[i].Row]
		if p == nil {
			continue
		}
		switch b.events[i].Kind {
		case snapshot.EventOutOfMemory:
			p.ooms = quantity.Sum(p.ooms, number(1))
		case snapshot.EventRescued:
			p.rescued++
		case snapshot.EventNotRescued:
			p.notRescued++
		}
	}
}

// failures counts the failures on a GPU, or on all GPUs if uuid is "". The count of out-of-memory
// errors is known if there were some, or if a probe counted them.
func (b *Builder) failures(uuid string, over time.Duration) (f schema.ReportFailures) {
	on := func(gpu string) bool { return uuid == "" || gpu == uuid }
	for id, p := range b.processes {
		if on(id.GPUUUID) && p.OutOfMemoryCount.Known() {
			f.OutOfMemory = quantity.Sum(f.OutOfMemory, number(0))
		}
		if on(id.GPUUUID) && p.retries.known {
			f.Retries = quantity.Sum(f.Retries, number(p.retries.sum))
		}
	}
	for i := range b.events {
		switch e := &b.events[i]; {
		case !on(e.GPUUUID):
		case e.Kind == snapshot.EventOutOfMemory:
			f.OutOfMemory = quantity.Sum(f.OutOfMemory, number(1))
		case e.Kind == snapshot.EventRescued:
			f.Rescued++
		case e.Kind == snapshot.EventNotRescued:
			f.NotRescued++
		}
	}
	setRates(&f, over)
	return f
}

func setRates(f *schema.ReportFailures, over time.Duration) {
	f.OutOfMemoryPerHour, f.RetriesPerHour = perHour(f.OutOfMemory, over), perHour(f.Retries, over)
}

func (b *Builder) allOOMs() Count { return b.failures("", 0).OutOfMemory }

// shownEvents returns the events for the document, without signals. forecaster adds the alerts.
func (b *Builder) shownEvents() []schema.ReportEvent {
	shown := []schema.ReportEvent{}
	for i := range b.events {
		if e := &b.events[i]; e.Kind != snapshot.EventSignal {
			shown = append(shown, schema.ReportEvent{
				Time: schema.Time(e.Time), GPU: b.index(e.GPUUUID), UUID: e.GPUUUID, Kind: string(e.Kind),
				Process: schema.Text(b.label(e.Row)), Message: schema.Text(text.Clean(e.Message)),
			})
		}
	}
	return shown
}

// label names a process for a reader: "2963112 carol finetune.py".
func (b *Builder) label(id snapshot.RowID) string {
	if id == (snapshot.RowID{}) {
		return ""
	}
	label := strconv.Itoa(id.Process.PID)
	if p := b.processes[id]; p != nil {
		label += " " + cmp.Or(text.Clean(p.User), "?") + " " + text.Clean(cmp.Or(p.command, p.Name, "?"))
	}
	return label
}

type group struct {
	schema.ReportGroup
	identities map[any]bool
	recorded   time.Duration
	retries    Count
	steps      float64
	stepping   int

	parts
	idling, wasted snapshot.Float
	use            use
	jobs           map[string]bool
}

// groups returns the sums by group, most wasted memory first, and how many groups it left out.
func (b *Builder) groups() (out []schema.ReportGroup, leftOut int) {
	byName := map[any]*group{}
	for id, p := range b.processes {
		if p.recorded == 0 && p.ooms.Or(0) == 0 {
			continue
		}
		key, name := b.groupOf(p)
		g := byName[key]
		if g == nil {
			g = &group{identities: map[any]bool{}, jobs: map[string]bool{}, ReportGroup: schema.ReportGroup{Name: name, GPUs: []int{}}}
			byName[key] = g
		}
		g.add(p)
		if p.JobAllocation() == nil {
			g.identities[id.Process] = true
		}
		if gpu := b.byUUID[id.GPUUUID]; gpu != nil && !slices.Contains(g.GPUs, gpu.Index) {
			g.GPUs = append(g.GPUs, gpu.Index)
		}
		if b.question.By == "gpu" {
			g.PID, g.StartTime, g.User, g.Job = quantity.From(id.Process.PID, quantity.System), schema.Time(p.Started), schema.Text(text.Clean(p.User)), schema.Text(text.Clean(p.job))
		}
	}
	out = []schema.ReportGroup{}
	for _, g := range byName {
		out = append(out, g.document())
	}
	sorted.Stable(out, func(x, y schema.ReportGroup) int {
		return cmp.Or(cmp.Compare(y.WastedGiBHours.Or(0), x.WastedGiBHours.Or(0)), cmp.Compare(y.UsedGiBHours.Or(0), x.UsedGiBHours.Or(0)),
			cmp.Compare(x.Name, y.Name), cmp.Compare(x.PID.Or(0), y.PID.Or(0)), cmp.Compare(slices.Min(append(x.GPUs, -1)), slices.Min(append(y.GPUs, -1))))
	})
	if leftOut = max(len(out)-mostGroups, 0); leftOut > 0 {
		out = out[:mostGroups]
	}
	return out, leftOut
}

func (b *Builder) groupOf(p *processSums) (key any, name string) {
	command := text.Clean(cmp.Or(p.command, p.Name, "?"))
	if p.JobAllocation() != nil {
		command = "no process"
	}
	switch b.question.By {
	case "user":
		name = cmp.Or(text.Clean(p.User), "?")
	case "job":
		name = cmp.Or(text.Clean(p.job), "no job")
	case "account":
		name = cmp.Or(text.Clean(p.Job.Account), "–")
	case "command":
		name = command
	default:
		return p.ID, command
	}
	return name, name
}

func (g *group) add(p *processSums) {
	g.recorded += p.recorded
	g.join(&p.parts)
	g.idling, g.wasted = quantity.Sum(g.idling, p.idleHeld), quantity.Sum(g.wasted, p.wasted)
	g.use.join(&p.use)
	if p.job != "" {
		g.jobs[p.job] = true
	}
	g.Failures.Rescued += p.rescued
	g.Failures.NotRescued += p.notRescued
	if highest, ok := p.peak.Value(); ok && highest >= g.PeakBytes.Or(0) {
		g.PeakBytes = p.peak
	}
	g.Failures.OutOfMemory = quantity.Sum(g.Failures.OutOfMemory, p.ooms)
	if p.retries.known {
		g.retries = quantity.Sum(g.retries, number(p.retries.sum))
	}
	// A process counts its steps once, even on several GPUs.
	if p.steps.since > 0 && !g.identities[p.ID.Process] {
		g.steps += float64(p.steps.counted) / p.steps.since.Seconds()
		g.stepping++
	}
}

func (g *group) document() schema.ReportGroup {
	out := g.ReportGroup
	out.Processes = len(g.identities)
	slices.Sort(out.GPUs)
	out.RecordedSeconds = g.recorded.Seconds()
	out.UsedGiBHours, out.AllocatedGiBHours, out.CachedGiBHours = g.parts[used], g.parts[allocated], g.parts[cached]
	out.FragmentedGiBHours, out.OtherGiBHours, out.IdleGiBHours = g.parts[fragmented], g.parts[other], g.idling
	out.WastedGiBHours = g.wasted
	out.Failures.Retries = g.retries
	setRates(&out.Failures, g.recorded)
	g.use.document(&out)
	if len(g.jobs) > 0 {
		out.Jobs = quantity.From(len(g.jobs), quantity.Computed)
	}
	out.StepsPerSecond = figure(g.steps/float64(g.stepping), g.stepping > 0)
	return out
}
