package nvml

import (
	"os"
	"path/filepath"
	"testing"

	"vramscope/internal/quantity"
)

const gib = uint64(quantity.GiB)

func TestMemoryV2(t *testing.T) {
	driver := func(v uint64) quantity.Optional[quantity.Bytes] {
		return quantity.From(quantity.Bytes(v), quantity.Driver)
	}
	unknown := quantity.Unknown[quantity.Bytes]()
	tests := []struct {
		name   string
		answer memoryAnswer
		want   Memory
	}{
		{"plain", memoryAnswer{total: 80 * gib, reserved: gib, free: 39 * gib, used: 40 * gib},
			Memory{Total: driver(80 * gib), Reserved: driver(gib), Free: driver(39 * gib), Used: driver(40 * gib)}},
		{"used not available", memoryAnswer{total: 80 * gib, reserved: gib, free: 39 * gib, used: valueNotAvailable},
			Memory{Total: driver(80 * gib), Reserved: driver(gib), Free: driver(39 * gib), Used: unknown}},
		{"used above total", memoryAnswer{total: 80 * gib, reserved: gib, free: 39 * gib, used: 81 * gib},
			Memory{Total: driver(80 * gib), Reserved: driver(gib), Free: driver(39 * gib), Used: unknown}},
		{"nothing available", memoryAnswer{valueNotAvailable, valueNotAvailable, valueNotAvailable, valueNotAvailable}, Memory{}},
		{"empty GPU", memoryAnswer{total: 80 * gib, free: 80 * gib},
			Memory{Total: driver(80 * gib), Reserved: driver(0), Free: driver(80 * gib), Used: driver(0)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := memoryOf(test.answer, quantity.Driver); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// The old call does not report reserved memory, and the source shows which call answered.
func TestMemoryV1KeepsItsSource(t *testing.T) {
	got := memoryOf(memoryAnswer{total: 80 * gib, free: 30 * gib, used: 50 * gib}, quantity.DriverV1)
	if got.Reserved.Known() {
		t.Error("reserved is known from a call that does not report it")
	}
	if got.Used.Source() != quantity.DriverV1 || got.Used.Or(0) != quantity.Bytes(50*gib) {
		t.Errorf("used is %v from %v", got.Used.Or(0), got.Used.Source())
	}
}

func FuzzMemory(f *testing.F) {
	f.Add(80*gib, gib, 39*gib, 40*gib)
	f.Add(uint64(0), uint64(0), uint64(0), uint64(0))
	f.Add(valueNotAvailable, uint64(1)<<63, uint64(1), valueNotAvailable-1)
	f.Fuzz(func(t *testing.T, total, reserved, free, used uint64) {
		answer := memoryAnswer{total: total, reserved: reserved, free: free, used: used}
		for _, m := range []Memory{memoryOf(answer, quantity.DriverV1), memoryOf(answer, quantity.Driver)} {
			whole, known := m.Total.Value()
			for _, part := range []quantity.Optional[quantity.Bytes]{m.Used, m.Free, m.Reserved} {
				if v, ok := part.Value(); ok && (v < 0 || known && v > whole) {
					t.Fatalf("part %d of a whole of %d from %+v", v, whole, answer)
				}
			}
		}
	})
}

// The figures are from a GB10: MemTotal 127600748 kB, MemAvailable 118566368 kB.
func TestHostMemory(t *testing.T) {
	got := hostMemory(procWith(t, "MemTotal:       127600748 kB\nMemFree:         7000000 kB\nMemAvailable:   118566368 kB\nHugePages_Total:       0\n"))
	system := func(kib quantity.Bytes) quantity.Optional[quantity.Bytes] {
		return quantity.From(kib*quantity.KiB, quantity.System)
	}
	want := Memory{Total: system(127600748), Used: system(127600748 - 118566368), Free: system(118566368)}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestHostMemoryRefusesBadFiles(t *testing.T) {
	for _, text := range []string{
		"",
		"MemTotal: 10 kB\n",
		"MemTotal: 10 MB\nMemAvailable: 5 MB\n",
		"MemTotal: 10 kB\nMemAvailable: 11 kB\n",
		"MemTotal: -10 kB\nMemAvailable: 5 kB\n",
		"MemTotal: 99999999999999999999 kB\nMemAvailable: 5 kB\n",
		"MemTotal: 4398046511104 kB\nMemAvailable: 5 kB\n", // 4 PiB
	} {
		if got := hostMemory(procWith(t, text)); got != (Memory{}) {
			t.Errorf("%q was taken for %+v", text, got)
		}
	}
	if got := hostMemory(filepath.Join(t.TempDir(), "absent")); got != (Memory{}) {
		t.Errorf("no /proc was taken for %+v", got)
	}
}

// procWith returns a /proc that has only meminfo.
func procWith(t *testing.T, meminfo string) string {
	t.Helper()
	proc := t.TempDir()
	if err := os.WriteFile(filepath.Join(proc, "meminfo"), []byte(meminfo), 0o600); err != nil {
		t.Fatal(err)
	}
	return proc
}

func TestNamedIntegrated(t *testing.T) {
	for name, want := range map[string]bool{
		"NVIDIA GB10": true, "Orin (nvgpu)": true, "NVIDIA Thor": true,
		"NVIDIA H100 80GB HBM3": false, "NVIDIA GH200 480GB": false, "NVIDIA GB200": false,
	} {
		if got := namedIntegrated(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
