package simulator

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/simulator/allocator"
)

const (
	reportEvery = time.Second
	importing   = 3 * time.Second // until then a task has no probe
)

var errNoAnswer = errors.New("no answer within 200 ms")

type lastReport struct {
	reported bool
	at       time.Duration
	stats    allocator.Stats
	failures []probe.FailedAllocation
	phase    time.Duration // when in each second the probe reports
}

func (t *task) takeReport(now time.Duration) {
	e := &t.probe
	stats, known := t.stats()
	if !known || t.stopped || now-t.started < importing {
		return
	}
	if e.reported && within(now, reportEvery) != e.phase {
		return
	}
	e.reported, e.at, e.stats, e.failures = true, now, stats, t.failures
}

// Unasked implements sampler.ProbeReader: every probe answers at once.
func (b *Box) Unasked() int { return 0 }

func (b *Box) Answers() []probe.Answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance()
	tasks := b.inOrder()
	answers := make([]probe.Answer, 0, len(tasks))
	for _, t := range tasks {
		if t.probe.reported {
			answers = append(answers, b.answer(t))
		}
	}
	return answers
}

func (b *Box) answer(t *task) probe.Answer {
	e := &t.probe
	at := b.epoch.Add(e.at)
	a := probe.Answer{
		Process: t.identity,
		Hello:   t.role.hello(t.identity),
		Report: probe.Report{
			TimeNS:  at.UnixNano(),
			Devices: []probe.Device{t.report()},
		},
		At: at,
	}
	if b.at-e.at > reportEvery {
		a.Err = fmt.Errorf("probe: stats of PID %d: %w", t.identity.PID, errNoAnswer)
	}
	return a
}

func (t *task) report() probe.Device {
	s := t.probe.stats
	d := probe.Device{UUID: t.uuid(), Total: reported(t.frame.total)}
	a := probe.Allocator{
		Reserved: reported(s.Reserved), Allocated: reported(s.Allocated), Cached: reported(s.Cached), Fragmented: reported(s.Fragmented),
		Returnable: reported(s.Returnable), LargestFree: reported(s.LargestFree),
		PeakAllocated: reported(s.PeakAllocated), PeakReserved: reported(s.PeakReserved),
	}
	switch t.role.runtime {
	case pytorch:
		a.Kind, a.Basis = "pytorch", probe.Stranded
		a.Pending = reported(s.Pending)
		a.Segments, a.StrandedSegments, a.Blocks = count(s.Segments), count(s.Stranded), count(s.Blocks)
		a.Pools = []probe.Pool{part("small", s.Small), part("large", s.Large)}
		a.Config = t.role.config
		a.OutOfMemoryCount = count(s.OutOfMemory)
		a.AllocRetries = count(s.Retries)
	case jax:
		a.Kind, a.Basis = "jax", probe.LargestFree // JAX counts neither segments nor failures
	}
	d.Allocators = []probe.Allocator{a}
	d.OutOfMemory = t.probe.failures
	return d
}

func part(name string, p allocator.Pool) probe.Pool {
	return probe.Pool{
		Name: name, Reserved: reported(p.Reserved), Allocated: reported(p.Allocated), Fragmented: reported(p.Fragmented),
		Segments: count(p.Segments),
	}
}

func reported[T any](figure T) quantity.Optional[T] { return quantity.From(figure, quantity.Probe) }

func count(n int) quantity.Optional[int64] { return reported(int64(n)) }

const maxFailures = 16

// observe makes the task wait for a rescue, if there is one. Otherwise it notes the failed
// allocation, as PyTorch's out-of-memory observers do.
func (t *task) observe(size quantity.Bytes) (again bool) {
	if t.box.rescue != nil && !t.retries {
		t.waits = true
		t.box.rescue(t.identity, t.uuid(), size)
		return true
	}
	s, free := t.cache.Stats(), t.frame.capacity()-t.frame.used
	// The list is copied, because earlier reports have the old list.
	t.failures = append(slices.Clip(t.failures), probe.FailedAllocation{
		TimeNS: t.box.epoch.Add(t.now).UnixNano(), Bytes: size, Free: reported(free), Limit: reported(t.frame.total), Allocator: "pytorch",
		Reserved: reported(s.Reserved), Allocated: reported(s.Allocated), LargestFree: reported(s.LargestFree),
		Stack: []string{t.role.command[1] + ":118 in forward", t.role.command[1] + ":204 in train"}, Held: t.heldAtError(),
	})
	t.failures = t.failures[max(len(t.failures)-maxFailures, 0):]
	return false
}

// Segments returns the map of a process's memory, for PyTorch only.
func (b *Box) Segments(id process.Identity) (probe.Segments, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.find(id)
	if err != nil {
		return probe.Segments{}, fmt.Errorf("simulator: segments: %w", err)
	}
	if t.cache == nil || t.role.runtime != pytorch {
		return probe.Segments{}, &probe.Error{Code: probe.Unsupported, Message: "only PyTorch reports its segments"}
	}
	device := probe.DeviceSegments{UUID: t.uuid(), Segments: t.cache.Segments()}
	return probe.Segments{
		Schema: probe.SegmentsSchema, TimeNS: b.epoch.Add(b.at).UnixNano(), Devices: []probe.DeviceSegments{device},
	}, nil
}

// uuid returns the UUID of the task's GPU or MIG instance.
func (t *task) uuid() string {
	if t.instance != nil {
		return t.instance.uuid
	}
	return t.board.device.UUID
}
