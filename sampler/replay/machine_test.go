package replay

import (
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

// alerted returns the number of seconds with a full-in alert, from the second since until a GPU of 80 GiB
// is full. The processes are ten hours old. used returns the used memory of each process in a second.
func alerted(t *testing.T, since int, used func(second int) []int64) (seconds int) {
	t.Helper()
	const total = 80 << 30
	m := &Machine{}
	s := m.Watch(time.Second)
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for second := range 10_000 {
		var running []Process
		sum := int64(0)
		for i, v := range used(second) {
			id := process.Identity{PID: i + 1, StartTime: uint64(i + 1), Namespace: 1}
			running = append(running, Process{process.Info{Identity: id, Started: start.Add(-10 * time.Hour)}, v})
			sum += v
		}
		if sum > total {
			return seconds
		}
		now := start.Add(time.Duration(second) * time.Second)
		m.Set(now, sum, total, running...)
		for _, a := range s.Tick(now).Alerts {
			if a.Kind == snapshot.AlertFullIn && second >= since {
				seconds++
			}
		}
	}
	t.Fatal("it is never full")
	return 0
}

func TestSmallProcessesThatFillAGPUAreAlerted(t *testing.T) {
	got := alerted(t, 0, func(second int) []int64 {
		used := make([]int64, 30)
		for i := range used {
			used[i] = 3<<29 + int64(max(second-1200, 0))*7<<20/10
		}
		return used
	})
	if got < 300 {
		t.Errorf("%d s", got)
	}
}

// A rise to an earlier level is not a load if other processes have taken the memory.
func TestRiseThatNoLongerFitsIsAlerted(t *testing.T) {
	got := alerted(t, 6000, func(second int) []int64 {
		first, other := int64(20<<30), int64(4<<30)
		switch {
		case second >= 300 && second < 400:
			first += int64(second-300) * 40 << 30 / 100
		case second >= 400 && second < 1000:
			first = 60 << 30
		}
		if second >= 1300 {
			other = 40 << 30
		}
		if second >= 6000 {
			first += int64(second-6000) * 100 << 20
		}
		return []int64{first, other}
	})
	if got < 60 {
		t.Errorf("%d s", got)
	}
}
