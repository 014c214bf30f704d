//go:build linux && cgo

package nvml

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
	"vramscope/metric"
)

// countVariable names the file in which the fake driver counts its calls.
const countVariable = "VRAMSCOPE_FAKE_COUNT"

// calls returns how many calls the driver has served.
func (b *box) calls() int {
	b.Helper()
	raw, err := os.ReadFile(os.Getenv(countVariable))
	if err != nil || len(raw) != 8 {
		b.Fatalf("%d bytes: %v", len(raw), err)
	}
	return int(binary.NativeEndian.Uint64(raw))
}

// Without details, a monitor of eight GPUs with eight processes each makes at most 85 calls per second.
func TestCallsOfAMonitor(t *testing.T) {
	t.Setenv(countVariable, filepath.Join(t.TempDir(), "calls")) // for the test's own process
	b := alone(t, fakedriver.Current, fakedriver.Box(8, 8))
	if b == nil {
		return
	}
	library := New(Options{LibraryPath: b.library, Now: b.now})
	_, devices, err := library.Open()
	if err != nil {
		t.Fatal(err)
	}
	second := func(n int) {
		b.State = b.At(n)
		b.write()
		for _, device := range devices {
			b.read(library, device)
		}
		b.passed.Add(int64(time.Second))
	}
	for n := range 3 {
		second(n) // the first readings subscribe to events, which the test does not count
	}
	const seconds = 30
	before := b.calls()
	for n := range seconds {
		second(n)
	}
	if perSecond := float64(b.calls()-before) / seconds; perSecond > 85 {
		t.Errorf("%.1f calls a second", perSecond)
	} else {
		t.Logf("%.1f calls a second", perSecond)
	}
	library.Details(true)
	before = b.calls()
	for n := range seconds {
		second(n)
	}
	t.Logf("%.1f calls a second with details", float64(b.calls()-before)/seconds)
	if err := library.Close(); err != nil {
		t.Error(err)
	}
}

// A figure that only the GPU page shows is known only while Details is set.
func TestDetailsAreReadWhenWanted(t *testing.T) {
	b := alone(t, fakedriver.Current, boxWithFan())
	if b == nil {
		return
	}
	library := New(Options{LibraryPath: b.library, Now: b.now})
	_, devices, err := library.Open()
	if err != nil {
		t.Fatal(err)
	}
	details := []metric.ID{metric.EncoderUtilization, metric.PCIeGeneration, metric.BAR1Used, metric.RemappingPending, metric.NVLinkCount, metric.Persistence}
	for i, wanted := range []bool{false, true, false, true} {
		library.Details(wanted)
		reading := b.read(library, devices[0])
		for _, id := range details {
			if reading.Value(id).Known() != wanted {
				t.Errorf("details %v: %s is %v", wanted, metric.Table[id].Name, reading.Value(id))
			}
		}
		if (len(reading.NVLinks) == 18) != wanted {
			t.Errorf("details %v: %d links", wanted, len(reading.NVLinks))
		} else if i == 3 && reading.NVLinks[0].Sent.Known() {
			t.Errorf("a rate over the time in which nothing was read: %+v", reading.NVLinks[0])
		}
		for _, id := range []metric.ID{metric.Fan, metric.PerformanceState, metric.MemoryClock} {
			if !reading.Value(id).Known() {
				t.Errorf("details %v: %s is unknown", wanted, metric.Table[id].Name)
			}
		}
	}
	if err := library.Close(); err != nil {
		t.Error(err)
	}
}

func TestNVLinks(t *testing.T) {
	b := alone(t, fakedriver.Current, boxWithFan())
	if b == nil {
		return
	}
	gpu := &b.GPUs[0]
	library, devices := b.open()
	if first := b.read(library, devices[0]); first.NVLinks[0].Sent.Known() {
		t.Errorf("a rate of one reading: %+v", first.NVLinks[0])
	}
	time.Sleep(50 * time.Millisecond)
	reading := b.read(library, devices[0])
	first, last := reading.NVLinks[0], reading.NVLinks[17]
	near := func(name string, got metric.Int, kib uint64) {
		t.Helper()
		if v := float64(got.Or(-1)) / 1024 / float64(kib); v < 0.9 || v > 1.1 {
			t.Errorf("%s: %v bytes/s, want %d KiB/s", name, got, kib)
		}
	}
	near("sent", first.Sent, gpu.NVLinkTX)
	near("received", first.Received, gpu.NVLinkRX)
	near("sent by all", reading.NVLinkSent, gpu.NVLinkTX*16)
	near("received by all", reading.NVLinkReceived, gpu.NVLinkRX*16)
	known(b, "replays", first.Replays, 7)
	known(b, "recoveries", first.Recoveries, 1)
	known(b, "CRC errors", first.CRCErrors, 40)
	if !first.Active || last.Active || last.Sent.Known() || last.Replays.Known() {
		t.Errorf("the first is up and the last is down: %+v, %+v", first, last)
	}
	// If the driver refuses the call, with MIG, and without links, the reading has no links.
	for _, fail := range []func(){
		func() { gpu.Fail("nvmlDeviceGetNvLinkState", fakedriver.NotSupported) },
		func() { gpu.MIGMode = 1 },
		func() { gpu.NVLinks = 0 },
	} {
		fail()
		b.write()
		b.later(library)
		if reading := b.read(library, devices[0]); reading.NVLinks != nil || reading.NVLinksUp.Known() {
			t.Errorf("%+v", reading.NVLinks)
		}
		gpu.Heal()
		gpu.MIGMode = 0
	}
}

// A process that is only in the graphics list is seen at once, although that list was empty: used
// memory shows that the process is there.
func TestGraphicsProcessIsSeenAtOnce(t *testing.T) {
	b := alone(t, fakedriver.Current, fakedriver.Box(1, 2))
	if b == nil {
		return
	}
	library, devices := b.open()
	for range 3 {
		b.read(library, devices[0])
	}
	process := fakedriver.NewProcess(77, 20<<20)
	process.Lists = "G"
	b.GPUs[0].Start(process)
	b.write()
	b.expectProcesses(b.read(library, devices[0]), &b.GPUs[0])
	client := fakedriver.NewProcess(78, 1<<30) // the compute list has this process too, so its memory is explained
	client.Lists = "M+C"
	b.GPUs[0].Start(client)
	b.write()
	b.expectProcesses(b.read(library, devices[0]), &b.GPUs[0])
	b.GPUs[0].End(77)
	b.write()
	b.expectProcesses(b.read(library, devices[0]), &b.GPUs[0])
}
