package report

import (
	"math"
	"slices"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
)

// Question selects the period and the grouping of a report.
type Question struct {
	From, To       time.Time // whole minutes
	Oldest, Newest time.Time // when the samples begin and end; zero if unknown
	By             string    // one of Groupings
}

// bounds returns the period without the time after the last sample, and without the time before the
// first sample if that is less than five minutes.
func (q *Question) bounds() (from, to time.Time) {
	from, to = q.From, q.To
	if q.Oldest.After(from) && q.Oldest.Sub(from) < fiveMinutes {
		from = q.Oldest.In(from.Location())
	}
	if !q.Newest.IsZero() && q.Newest.Before(to) {
		to = q.Newest.In(to.Location())
	}
	return from, to
}

const fiveMinutes = 5 * time.Minute

// Groupings are the values of Question.By. With "gpu" each process on each GPU is its own group.
var Groupings = []string{"gpu", "user", "job", "account", "command"}

// Builder sums rows. The caller adds GPUs and processes first, then minutes, then five minutes, each
// in the order of time, and other rows at any time.
type Builder struct {
	question  Question
	host      string
	simulated bool

	gpus      []*gpuSums
	byUUID    map[string]*gpuSums
	processes map[snapshot.RowID]*processSums
	events    []event
	alerts    []recording.Alert
	raised    map[alertKey]bool
	hours     hours
	recorded  map[int64]time.Duration // by minute: the longest covered time among the GPUs
}

// New returns a Builder for the report that answers q.
func New(q Question) *Builder {
	return &Builder{
		question: q, byUUID: map[string]*gpuSums{}, processes: map[snapshot.RowID]*processSums{}, hours: hours{q.From, make([]hour, int(math.Ceil(q.To.Sub(q.From).Hours())))},
		recorded: map[int64]time.Duration{}, raised: map[alertKey]bool{},
	}
}

// AddSession sets the host. One simulated session makes the whole report simulated.
func (b *Builder) AddSession(host string, simulated bool) {
	b.host = host
	b.simulated = b.simulated || simulated
}

// AddGPU adds a GPU, or updates the description of a known one.
func (b *Builder) AddGPU(g snapshot.GPU) {
	if known := b.byUUID[g.UUID]; known != nil {
		known.GPU = g
		return
	}
	sums := &gpuSums{GPU: g, timeline: newTimeline(b.question)}
	b.byUUID[g.UUID] = sums
	b.gpus = append(b.gpus, sums)
}

// AddProcess adds a process. The Builder keeps p.
func (b *Builder) AddProcess(p *recording.ProcessRow) {
	sums := &processSums{ProcessRow: p}
	if len(p.Command) > 0 {
		sums.command = text.Clean(process.ShortCommand(p.Command, p.Name))
	}
	if p.Job.ID != "" {
		sums.job = p.Job.Kind + " " + p.Job.ID
	}
	b.processes[p.ID] = sums
}

// AddMinute adds a minute of a GPU. It ignores an unknown GPU and a minute outside the period.
func (b *Builder) AddMinute(m *recording.GPUMinute) {
	g := b.byUUID[m.GPUUUID]
	if g == nil || m.Covered <= 0 || !b.within(m.Time) {
		return
	}
	if g.parts[used].Known() && !m.Used.Mean.Known() { // a lost GPU has no parts, even if its processes' probes still report
		m = &recording.GPUMinute{Time: m.Time, GPUUUID: m.GPUUUID, Covered: m.Covered, Utilization: m.Utilization, Energy: m.Energy}
	}
	g.add(m)
	minute := minuteOf(m.Time)
	b.recorded[minute] = max(b.recorded[minute], min(m.Covered, time.Minute))
	b.hours.at(m.Time).add(m, g.Memory.Capacity())
}

// AddFiveMinutes adds five minutes of a process. steps is the process's step counter at their end.
func (b *Builder) AddFiveMinutes(f *recording.Process5Min, steps Count) {
	p, share := b.processes[f.Row], b.shareOf(f.Time)
	if p == nil || f.Covered <= 0 || share <= 0 {
		return
	}
	taken := useOf(f, share)
	p.use.join(&taken)
	some := *f
	some.Covered = time.Duration(share * float64(f.Covered))
	if p.parts[used].Known() && !f.Used.Mean.Known() {
		some.Allocated, some.Cached, some.Fragmented, some.Other = snapshot.Bytes{}, snapshot.Bytes{}, snapshot.Bytes{}, snapshot.Bytes{}
	}
	retried, stepped := p.add(&some, steps, b.byUUID[f.Row.GPUUUID])
	b.hours.addProcess(p, &some, retried, stepped)
}

// AddAlert adds an alert. An alert that was recorded several times while it was active counts once.
func (b *Builder) AddAlert(a recording.Alert) {
	key := alertKey{snapshot.AlertKey{Kind: a.Kind, GPUUUID: a.GPUUUID, Instance: a.Instance, Row: a.Row}, a.Since.UnixNano()}
	if b.within(a.Time) && (a.Since.IsZero() || !b.raised[key]) {
		b.raised[key] = true
		b.alerts = append(b.alerts, a)
	}
}

type alertKey struct {
	snapshot.AlertKey
	since int64
}

// AddEvent adds an event. stayed is for a flush.
func (b *Builder) AddEvent(e *snapshot.Event, stayed Stayed) {
	if b.within(e.Time) && slices.Contains(evaluated, e.Kind) {
		b.events = append(b.events, event{*e, stayed})
	}
}

// evaluated are the kinds of events that a Builder keeps. Events of other kinds are too many.
var evaluated = []snapshot.EventKind{
	snapshot.EventOutOfMemory, snapshot.EventFlush, snapshot.EventSignal, snapshot.EventRescued, snapshot.EventNotRescued,
	snapshot.EventGPULost, snapshot.EventGPUBack, snapshot.EventIdleServer,
}

type event struct {
	snapshot.Event
	stayed Stayed
}

// Stayed is how much of the memory that a flush freed was still free after each of Stays.
type Stayed [len(Stays)]snapshot.Bytes

// Stays are the times after a flush at which the report checks whether freed memory is still free.
var Stays = [...]time.Duration{time.Minute, 10 * time.Minute}

// shareOf returns the share of five minutes from begin that is in the period. It counts only the time
// between the first and the last sample.
func (b *Builder) shareOf(begin time.Time) float64 {
	q := &b.question
	end := begin.Add(fiveMinutes)
	if !q.Newest.IsZero() {
		end = quantity.Earlier(end, q.Newest)
	}
	begin = quantity.Later(begin, q.Oldest)
	from, to := quantity.Later(begin, q.From), quantity.Earlier(end, q.To)
	if !begin.Before(end) {
		return 0
	}
	return float64(to.Sub(from)) / float64(end.Sub(begin))
}

func (b *Builder) within(t time.Time) bool {
	return !t.Before(b.question.From) && t.Before(b.question.To)
}

// recordedTime returns the time in which any GPU was recorded.
func (b *Builder) recordedTime() (total time.Duration) {
	for _, covered := range b.recorded {
		total += covered
	}
	return total
}

func gibHours(amount quantity.Bytes, over time.Duration) float64 {
	return float64(amount) / float64(quantity.GiB) * over.Hours()
}

// share returns v as a percentage of a whole; unknown if the whole is 0.
func share(v, whole float64) snapshot.Float { return figure(100*v/whole, whole > 0) }

func perHour(count Count, over time.Duration) snapshot.Float {
	return figure(float64(count.Or(0))/over.Hours(), count.Known() && over > 0)
}

// Empty reports whether nothing was recorded.
func (b *Builder) Empty() bool { return len(b.recorded) == 0 }
