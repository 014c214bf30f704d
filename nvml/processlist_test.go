package nvml

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"vramscope/internal/quantity"
)

// entry is one struct of a process list as a driver writes it.
type entry struct {
	pid          uint32
	used         uint64
	gpu, compute uint32
	protected    uint64
}

// driverList writes entries of a size into a fresh buffer, as a driver does.
func driverList(size, capacity int, entries ...entry) []byte {
	buffer := bytes.Repeat([]byte{pattern}, capacity*strideDetail)
	for i, e := range entries {
		at := buffer[i*size:]
		binary.NativeEndian.PutUint32(at, e.pid)
		binary.NativeEndian.PutUint64(at[8:], e.used)
		if size >= strideV2 {
			binary.NativeEndian.PutUint32(at[16:], e.gpu)
			binary.NativeEndian.PutUint32(at[20:], e.compute)
		}
		if size >= strideDetail {
			binary.NativeEndian.PutUint64(at[24:], e.protected)
		}
	}
	return buffer
}

func TestStrideIsTheSizeWritten(t *testing.T) {
	entries := []entry{{pid: 100, used: gib, gpu: noInstance, compute: noInstance}, {pid: 4194303, used: 70 * gib, gpu: 2, compute: 0},
		{pid: 7, used: valueNotAvailable, gpu: noInstance, compute: noInstance}}
	for _, size := range []int{strideV1, strideV2, strideDetail} {
		for _, promised := range []int{strideV1, strideV2} {
			for n := 1; n <= len(entries); n++ {
				buffer := driverList(size, 64, entries[:n]...)
				if got := stride(buffer, n, promised); got != size {
					t.Errorf("%d entries of %d bytes, promised %d: taken for %d", n, size, promised, got)
				}
			}
		}
	}
}

func TestStrideFallsBackToThePromisedSize(t *testing.T) {
	whole := make([]byte, 4*strideDetail) // a driver that cleared all of the buffer
	if got := stride(whole, 1, strideV2); got != strideV2 {
		t.Errorf("cleared buffer: %d", got)
	}
	if got := stride(driverList(strideV2, 4), 0, strideV1); got != strideV1 {
		t.Errorf("empty list: %d", got)
	}
	if got := stride(driverList(strideV2, 4), 1<<30, strideV2); got != strideV2 {
		t.Errorf("wild count: %d", got)
	}
}

func TestAppendProcesses(t *testing.T) {
	buffer := driverList(strideV2, 8,
		entry{pid: 100, used: gib, gpu: noInstance, compute: noInstance},
		entry{pid: 0, used: gib},
		entry{pid: 200, used: valueNotAvailable, gpu: 1, compute: 0},
		entry{pid: 0x80000000, used: gib},
		entry{pid: 300, used: 1 << 62, gpu: 2, compute: noInstance})
	used := func(v uint64) quantity.Optional[quantity.Bytes] {
		return quantity.From(quantity.Bytes(v), quantity.Driver)
	}
	unknown := quantity.Unknown[quantity.Bytes]()

	got := appendProcesses(nil, buffer, 5, strideV2, Compute, true)
	want := []Process{
		{PID: 100, Type: Compute, Used: used(gib)},
		{PID: 200, Type: Compute, Used: unknown, Instance: InstanceID{MIG: true, GPU: 1}},
		{PID: 300, Type: Compute, Used: unknown, Instance: InstanceID{MIG: true, GPU: 2}},
	}
	if !slices.Equal(got, want) {
		t.Errorf("under MIG: got %+v", got)
	}
	for i := range want {
		want[i].Instance = InstanceID{}
	}
	if got := appendProcesses(nil, buffer, 5, strideV2, Compute, false); !slices.Equal(got, want) {
		t.Errorf("without MIG: got %+v", got)
	}
	if got := appendProcesses(nil, buffer, 1<<30, strideV2, Compute, false); len(got) != 3 {
		t.Errorf("a wild count made %d processes", len(got))
	}
}

func TestMergeProcesses(t *testing.T) {
	used := func(v uint64) quantity.Optional[quantity.Bytes] {
		return quantity.From(quantity.Bytes(v), quantity.Driver)
	}
	first, second := InstanceID{MIG: true, GPU: 1}, InstanceID{MIG: true, GPU: 2}
	unknown := quantity.Unknown[quantity.Bytes]()
	got := mergeProcesses([]Process{
		{PID: 30, Type: Compute, Used: used(5)},
		{PID: 20, Type: Compute, Used: unknown},
		{PID: 10, Type: Compute, Used: used(100), Instance: second},
		{PID: 10, Type: Compute, Used: used(200), Instance: first},
		{PID: 30, Type: Graphics, Used: used(9)},
		{PID: 20, Type: MPS, Used: used(7)},
		{PID: 40, Type: Graphics, Used: used(1001)},
	}, 1000)
	want := []Process{
		{PID: 10, Type: Compute, Used: used(200), Instance: first},
		{PID: 10, Type: Compute, Used: used(100), Instance: second},
		{PID: 20, Type: Compute | MPS, Used: used(7)},
		{PID: 30, Type: Compute | Graphics, Used: used(9)},
		{PID: 40, Type: Graphics, Used: unknown},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	for i, name := range []string{"C", "C", "M+C", "C+G", "G"} {
		if got[i].Type.String() != name {
			t.Errorf("type of %d is %s, want %s", got[i].PID, got[i].Type, name)
		}
	}
}

func TestNextCapacity(t *testing.T) {
	tests := []struct{ capacity, asked, want int }{
		{64, 65, 128},                   // twice the capacity is more than was asked for
		{64, 400, 508},                  // more than the driver asked for
		{64, 0, 128},                    // the driver asks for no size
		{64, -1, 128},                   // a count above 2³¹ as a signed number
		{64, 1 << 31, maxProcesses},     // nonsense is limited
		{maxProcesses, maxProcesses, 0}, // at the limit there is no further try
	}
	for _, test := range tests {
		got, more := nextCapacity(test.capacity, test.asked)
		if got != test.want || more != (test.want > 0) {
			t.Errorf("%d, asked %d: %d %v, want %d", test.capacity, test.asked, got, more, test.want)
		}
	}
}

func FuzzProcessList(f *testing.F) {
	f.Add(driverList(strideV1, 2, entry{pid: 1, used: gib}, entry{pid: 1, used: 2 * gib}), 2, false, 80*gib)
	f.Add(driverList(strideV2, 2, entry{pid: 1, used: gib, gpu: 3}, entry{pid: 2, used: valueNotAvailable}), 2, true, gib)
	f.Add(driverList(strideDetail, 1, entry{pid: 9, used: gib, protected: 4}), 1<<31-1, true, uint64(0))
	f.Add([]byte{1, 2, 3}, -1, false, uint64(0))
	f.Fuzz(func(t *testing.T, buffer []byte, count int, mig bool, limit uint64) {
		size := stride(buffer, count, strideV2)
		list := appendProcesses(nil, buffer, count, size, Compute, mig)
		list = appendProcesses(list, buffer, count, strideV1, Graphics, mig)
		merged := mergeProcesses(list, limit)
		seen := make(map[[3]int]bool)
		for _, p := range merged {
			key := [3]int{p.PID, int(p.Instance.GPU), int(p.Instance.Compute)}
			if p.Instance.MIG {
				key[1]++ // instance 0 is not the whole GPU
			}
			if p.PID <= 0 || seen[key] || p.Type == 0 {
				t.Fatalf("bad or double entry %+v in %+v", p, merged)
			}
			seen[key] = true
			if used, ok := p.Used.Value(); ok && (used < 0 || uint64(used) > limit) {
				t.Fatalf("%d holds %d of %d", p.PID, used, limit)
			}
			if !mig && p.Instance != (InstanceID{}) {
				t.Fatalf("instance %+v without MIG", p.Instance)
			}
		}
	})
}
