package sampler

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// heldBox is a box whose device files processes have open.
type heldBox struct {
	*box
	holders []process.Holder
	takes   time.Duration
	asked   int
}

func (b *heldBox) Holders() []process.Holder {
	b.asked++
	time.Sleep(b.takes)
	return b.holders
}

func pidsOf(holders []snapshot.Holder) []int {
	var pids []int
	for _, h := range holders {
		pids = append(pids, h.Process.PID)
	}
	return pids
}

// Processes that the driver does not list are shown at the GPU whose device file they have open, or
// at no GPU.
func TestHoldersOfUnattributedMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &heldBox{box: newBox(2)}
		for i := range b.devices {
			b.devices[i].Minor = quantity.From(1-i, quantity.Driver) // differs from the index
		}
		for _, pid := range []int{200, 201, 202} {
			b.processes[pid] = info(pid, 1000)
		}
		// 100 is listed on GPU 0, 101 on GPU 1; 203 has ended.
		b.holders = []process.Holder{
			{PID: 100, Minors: []int{0, 1}}, {PID: 200, Minors: []int{1}}, {PID: 201, Minors: []int{0, 1}},
			{PID: 202}, {PID: 101}, {PID: 203, Minors: []int{1}},
		}
		s := New(Options{Devices: b, Processes: b, Clock: time.Now})
		snap := s.Tick(time.Now())
		if b.asked != 0 || snap.GPUs[0].Holders != nil || snap.Holders != nil {
			t.Errorf("looked %d times without unattributed memory: %v", b.asked, snap.GPUs[0].Holders)
		}
		b.leave("GPU-0", 15*quantity.GiB)
		snap = s.Tick(time.Now())
		mustEqual(t, pidsOf(snap.GPUs[0].Holders), 200, 201)
		mustEqual(t, pidsOf(snap.GPUs[1].Holders))
		mustEqual(t, pidsOf(snap.Holders), 202)
		if got := snap.GPUs[0].Holders[0]; got.User != "alice" || got.Name != "python" {
			t.Errorf("got %+v", got)
		}
		s.Tick(time.Now().Add(searchEvery - time.Second))
		if b.asked != 1 {
			t.Errorf("looked %d times within %v", b.asked, searchEvery)
		}
		b.leave("GPU-0", 10*quantity.GiB)
		if snap = s.Tick(time.Now().Add(searchEvery)); snap.GPUs[0].Holders != nil || snap.Holders != nil {
			t.Errorf("they stay: %v", snap.GPUs[0].Holders)
		}
	})
}

// After a slow search, the next search is due later.
func TestSlowSearchForHoldersDelaysOneTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &heldBox{box: newBox(1), takes: time.Second, holders: []process.Holder{{PID: 200}}}
		b.processes[200] = info(200, 1000)
		b.leave("GPU-0", 15*quantity.GiB)
		s := New(Options{Devices: b, Processes: b, Clock: time.Now})
		for tick, want := range []time.Duration{firstSearchWait, 0, 0} {
			began := time.Now()
			s.Tick(began)
			if took := time.Since(began); took != want {
				t.Errorf("tick %d takes %v, want %v", tick, took, want)
			}
		}
		time.Sleep(2 * time.Second)
		mustEqual(t, pidsOf(s.Tick(time.Now()).Holders), 200)
		time.Sleep(searchFactor*time.Second - 3*time.Second)
		if s.Tick(time.Now()); b.asked != 1 {
			t.Errorf("looked %d times", b.asked)
		}
		time.Sleep(4 * time.Second)
		s.Tick(time.Now())
		synctest.Wait()
		if b.asked != 2 {
			t.Errorf("looked %d times", b.asked)
		}
		time.Sleep(2 * time.Second)
	})
}

// leave sets the used memory of a GPU, of which its process has 10 GiB.
func (b *heldBox) leave(uuid string, used quantity.Bytes) {
	r := b.readings[uuid]
	r.Memory.Used, r.Memory.Free = measured(used), measured(79*quantity.GiB-used)
	b.readings[uuid] = r
}

func mustEqual(t *testing.T, got []int, want ...int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
