//go:build linux && cgo

package nvml

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
)

// These variables are in the environment of a test's own process. aloneVariable names the test,
// libraryVariable the library to load, and stateVariable the state file of the fake driver.
const (
	aloneVariable   = "VRAMSCOPE_NVML_ALONE"
	libraryVariable = "VRAMSCOPE_NVML_LIBRARY"
	stateVariable   = "VRAMSCOPE_FAKE_STATE"
)

// box is a fake driver in a test's own process.
type box struct {
	testing.TB
	fakedriver.State
	library string
	path    string // of the state file
	passed  atomic.Int64
}

// later makes the next readings also read the values that rarely change, as if time had passed.
func (b *box) later(library *Library) {
	for _, g := range library.gpus {
		g.rare.at, g.lists.at = time.Time{}, time.Time{}
	}
}

// now returns the time plus the time that the test has let pass.
func (b *box) now() time.Time { return time.Now().Add(time.Duration(b.passed.Load())) }

// alone runs the calling test again in a process of its own, because a process can load only one
// driver library. In that process it returns the box; in the first process it reports the result
// and returns nil.
func alone(t *testing.T, variant fakedriver.Variant, state fakedriver.State) *box {
	t.Helper()
	if os.Getenv(aloneVariable) == t.Name() {
		b := &box{TB: t, State: state, library: os.Getenv(libraryVariable), path: os.Getenv(stateVariable)}
		b.write()
		return b
	}
	library := fakedriver.Build(t, variant)
	command := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=60s")
	command.Env = append(os.Environ(), aloneVariable+"="+t.Name(), libraryVariable+"="+library,
		stateVariable+"="+filepath.Join(t.TempDir(), "state"))
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if testing.Verbose() {
		t.Log(stdout.String())
	}
	if err != nil || !strings.Contains(stdout.String(), "--- PASS: "+t.Name()) {
		t.Fatalf("in its own process: %v\n%s%s", err, stdout.String(), stderr.String())
	}
	if stderr.Len() > 0 {
		t.Errorf("printed on standard error:\n%s", stderr.String())
	}
	return nil
}

// write makes the fake driver use the box's state.
func (b *box) write() {
	b.Helper()
	b.MustWrite(b, b.path)
}

// open opens the box's library and closes it when the test ends.
func (b *box) open() (*Library, []Device) {
	b.Helper()
	library := New(Options{LibraryPath: b.library, Now: b.now})
	library.Complete()
	_, devices, err := library.Open()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := library.Close(); err != nil {
			b.Error(err)
		}
	})
	return library, devices
}

// read reads a GPU that is expected to answer.
func (b *box) read(library *Library, device Device) Reading {
	b.Helper()
	reading, err := library.Read(device)
	if err != nil {
		b.Fatal(err)
	}
	return reading
}

// boxWithFan returns a box of one GPU on which every sensor has a value.
func boxWithFan() fakedriver.State {
	state := fakedriver.Box(1, 3)
	gpu := &state.GPUs[0]
	gpu.Fan, gpu.PState, gpu.ComputeMode, gpu.Throttle = 42, 2, 3, 0x44
	gpu.EncoderUtilization, gpu.DecoderUtilization = 31, 17
	gpu.PCIeGen, gpu.PCIeWidth = 3, 8
	gpu.SMClock, gpu.MemoryClock = 1410, 1593
	gpu.RemappedCorrectable, gpu.RemappedUncorrectable, gpu.RemappingPending, gpu.RemappingFailed = 5, 2, 1, 1
	gpu.NVLinksDown, gpu.NVLinkReplays, gpu.NVLinkRecoveries, gpu.NVLinkCRC = 2, 7, 1, 40
	return state
}
