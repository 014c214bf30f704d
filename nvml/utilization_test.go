package nvml

import (
	"encoding/binary"
	"testing"
	"time"

	"vramscope/internal/quantity"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// driverSamples writes (pid, timestamp, per cent) triples as the driver does.
func driverSamples(triples ...[3]uint64) []byte {
	buffer := make([]byte, len(triples)*utilizationStride)
	for i, triple := range triples {
		at := buffer[i*utilizationStride:]
		binary.NativeEndian.PutUint32(at, uint32(triple[0]))
		binary.NativeEndian.PutUint64(at[8:], triple[1])
		binary.NativeEndian.PutUint32(at[16:], uint32(triple[2]))
	}
	return buffer
}

func micros(at time.Time) uint64 { return uint64(at.UnixMicro()) }

// assigned returns the utilisation of pids; -1 is unknown.
func assigned(u *utilization, whole quantity.Optional[int], pids ...int) []int {
	list := make([]Process, len(pids))
	for i, pid := range pids {
		list[i].PID = pid
	}
	u.assign(list, whole)
	shown := make([]int, len(pids))
	for i := range list {
		shown[i] = list[i].SMUtilization.Or(-1)
	}
	return shown
}

func expect(t *testing.T, got []int, want ...int) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func TestUtilizationKeepsTheNewestSample(t *testing.T) {
	var u utilization
	busy := quantity.From(80, quantity.Driver)
	u.add(driverSamples([3]uint64{10, micros(noon) - 500_000, 30}, [3]uint64{10, micros(noon) - 100_000, 40}, [3]uint64{10, micros(noon) - 900_000, 50}), 3, noon)
	expect(t, assigned(&u, busy, 10, 20), 40, 0)
	if u.since != micros(noon)-100_000 {
		t.Errorf("asks for samples since %d", u.since)
	}
}

// The driver samples a process at intervals of seconds. In between, its last sample stays valid.
// After that, the process was idle or its utilisation is unknown.
func TestUtilizationExpires(t *testing.T) {
	var u utilization
	busy := quantity.From(80, quantity.Driver)
	u.add(driverSamples([3]uint64{10, micros(noon), 30}), 1, noon)
	u.add(nil, 0, noon.Add(3*time.Second))
	expect(t, assigned(&u, busy, 10), 30)
	u.add(driverSamples([3]uint64{20, micros(noon.Add(5 * time.Second)), 60}), 1, noon.Add(5*time.Second))
	expect(t, assigned(&u, busy, 10, 20), 0, 60)
	u.add(nil, 0, noon.Add(20*time.Second))
	expect(t, assigned(&u, busy, 10, 20), -1, -1)
	expect(t, assigned(&u, quantity.From(0, quantity.Driver), 10, 20), 0, 0)
	expect(t, assigned(&u, quantity.Unknown[int](), 10, 20), -1, -1)
}

func TestUtilizationDropsNonsense(t *testing.T) {
	var u utilization
	u.add(driverSamples([3]uint64{10, micros(noon), 3_000_000_000}, [3]uint64{0, micros(noon), 5}, [3]uint64{20, 0, 5},
		[3]uint64{30, micros(noon.Add(time.Hour)), 5}, [3]uint64{40, micros(noon.Add(-time.Hour)), 5}), 1<<30, noon)
	expect(t, assigned(&u, quantity.From(80, quantity.Driver), 10, 20, 30, 40), -1, -1, -1, -1)
	if u.since > micros(noon) {
		t.Error("a timestamp from the future silences the driver")
	}
}

// If a driver counts from the boot, a sample's time is that of its arrival.
func TestUtilizationOfADriverThatCountsFromTheBoot(t *testing.T) {
	var u utilization
	u.add(driverSamples([3]uint64{10, 5_000_000, 30}), 1, noon)
	expect(t, assigned(&u, quantity.From(80, quantity.Driver), 10), 30)
	u.add(nil, 0, noon.Add(5*time.Second))
	expect(t, assigned(&u, quantity.From(80, quantity.Driver), 10), -1)
}

func FuzzUtilization(f *testing.F) {
	f.Add(driverSamples([3]uint64{10, 5_000_000, 30}), 1, int64(0))
	f.Add(driverSamples([3]uint64{10, 1 << 63, 101}), 1<<31, int64(-1))
	f.Fuzz(func(t *testing.T, buffer []byte, count int, clock int64) {
		var u utilization
		u.add(buffer, count, time.UnixMicro(clock%(1<<55)))
		for _, shown := range assigned(&u, quantity.Unknown[int](), 1, 10, 1<<31) {
			if shown < -1 || shown > 100 {
				t.Fatalf("%d per cent", shown)
			}
		}
	})
}
