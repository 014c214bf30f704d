package runner

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"vramscope/action/flush"
	"vramscope/guard"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

const (
	gib  = quantity.GiB
	uuid = "GPU-0"
)

// box is a GPU of 80 GiB, on which freed memory is free at the next sample.
type box struct {
	*Runner
	flush func(pid int) (freed, real quantity.Bytes) // the bytes freed, by the probe and in truth; -1: it does not answer

	after func() // called when the memory is freed

	mu      sync.Mutex
	rows    []row
	cached  map[int]quantity.Bytes // by pid
	behind  time.Time              // the GPU's figure is old until then
	late    quantity.Bytes         // what the old figure differs by
	flushed []int
	events  []snapshot.Event
}

const (
	asker    = 100 // a process with 40 GiB allocated
	notebook = 101 // a process that caches 20 GiB, importance -100
	test     = 102 // a process that caches 15 GiB, importance -200
)

// row is a process of a box.
type row struct {
	pid       int
	uid       uint32
	command   string
	gpu       int
	allocated quantity.Bytes
	cached    quantity.Bytes // at first
}

func uuidOf(gpu int) string { return "GPU-" + strconv.Itoa(gpu) }

func newBox(mode guard.Mode) *box {
	percent := func(p float64) guard.Amount { return guard.Amount{Percent: p} }
	return newBoxOf(guard.Policy{
		Mode:       mode,
		Rules:      []guard.Rule{{Name: "r", When: guard.When{FreeBelow: percent(1)}, Goal: guard.Amount{Percent: 2}}},
		Importance: []guard.Importance{{Command: "notebook*", Value: -100}, {Command: "test*", Value: -200}},
	}, guard.Owner{UID: 1000},
		row{pid: asker, uid: 1000, command: "train.py", allocated: 40 * gib},
		row{pid: notebook, uid: 1000, command: "notebook.py", cached: 20 * gib},
		row{pid: test, uid: 1000, command: "test.py", cached: 15 * gib})
}

func newBoxOf(policy guard.Policy, owner guard.Owner, rows ...row) *box {
	b := &box{rows: rows, cached: map[int]quantity.Bytes{}}
	for i := range rows {
		b.cached[rows[i].pid] = rows[i].cached
	}
	b.flush = func(pid int) (freed, real quantity.Bytes) { return b.cached[pid], b.cached[pid] }
	b.Runner = New(guard.New(policy, owner))
	b.Flusher = b
	b.Sample = func(context.Context) *snapshot.Snapshot {
		snap := b.snapshot()
		b.Observe(snap)
		return snap
	}
	b.Note = func(e snapshot.Event) { b.mu.Lock(); b.events = append(b.events, e); b.mu.Unlock() }
	b.Sample(context.Background())
	return b
}

func (b *box) snapshot() *snapshot.Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := func(v quantity.Bytes) snapshot.Bytes { return quantity.From(v, quantity.Driver) }
	s := &snapshot.Snapshot{Time: time.Now(), Interval: time.Second, Host: snapshot.Host{User: "alice"}, Driver: snapshot.Driver{State: snapshot.DriverOK}}
	var used []quantity.Bytes // by GPU
	for _, r := range b.rows {
		used = append(used, make([]quantity.Bytes, max(r.gpu+1-len(used), 0))...)
		used[r.gpu] += r.allocated + b.cached[r.pid]
		s.Rows = append(s.Rows, snapshot.Process{
			ID:   snapshot.RowID{Process: identity(r.pid), GPUUUID: uuidOf(r.gpu)},
			User: "user" + strconv.Itoa(int(r.uid)), UID: quantity.From(r.uid, quantity.System), Command: []string{r.command}, Name: r.command,
			Started: s.Time.Add(-time.Hour), Used: known(r.allocated + b.cached[r.pid]), Allocated: known(r.allocated), Cached: known(b.cached[r.pid]),
			Fragmented: known(0), Returnable: known(b.cached[r.pid]), Probe: &snapshot.Probe{State: snapshot.ProbeLive, Capabilities: []string{"flush"}},
			Hints: process.Hints{Distributed: quantity.From("", quantity.System)},
		})
	}
	if s.Time.Before(b.behind) {
		used[0] += b.late
	}
	for i, used := range used {
		s.GPUs = append(s.GPUs, snapshot.GPU{
			Index: i, UUID: uuidOf(i), State: snapshot.GPUOK, Memory: snapshot.Memory{Total: known(80 * gib), Used: known(used), Free: known(80*gib - used)},
		})
	}
	return s
}

func identity(pid int) process.Identity {
	return process.Identity{PID: pid, StartTime: 1, Namespace: 1}
}

// Run is the Flusher of the box.
func (b *box) Run(_ context.Context, r flush.Request) (flush.Result, error) {
	pid := r.Process.PID
	freed, real := b.flush(pid)
	if freed < 0 {
		return flush.Result{}, probe.ErrLate
	}
	b.mu.Lock()
	b.cached[pid] -= real
	b.flushed = append(b.flushed, pid)
	b.mu.Unlock()
	if b.after != nil {
		b.after()
	}
	b.Sample(context.Background()) // as action/flush does
	d := flush.Device{UUID: r.Devices[0], Before: freed, DriverBefore: quantity.From(real, quantity.Driver), DriverAfter: quantity.From(quantity.Bytes(0), quantity.Driver)}
	return flush.Result{Devices: []flush.Device{d}}, nil
}

func (b *box) rescue(need quantity.Bytes) (guard.Room, func(guard.RescueOutcome), string) {
	room, ended, err := b.Rescue(context.Background(), guard.Ask{Process: identity(asker), GPUUUID: uuid, Bytes: need})
	if err != nil {
		return room, ended, err.(*guard.RescueError).Code //nolint:errorlint,forcetypeassert // as the socket takes it
	}
	return room, ended, ""
}

func (b *box) event(t *testing.T, kind snapshot.EventKind, words ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if e.Kind != kind || e.Row.Process.PID != asker {
			continue
		}
		for _, word := range words {
			if !strings.Contains(e.Message, word) {
				t.Errorf("the event %q lacks %q", e.Message, word)
			}
		}
		return
	}
	t.Errorf("no event %s among %+v", kind, b.events)
}
