//go:build linux && cgo

package cuda

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
	"vramscope/internal/quantity"
	"vramscope/nvml"
)

// fake is the fake driver in this test process. Its libraries stay loaded with one
// state file, which all tests share; each test uses its own GPU.
type fake struct {
	library string // libnvidia-ml.so.1
	path    string // of the state file
	nvml    *nvml.Library
	devices []nvml.Device
	failed  error

	mu    sync.Mutex
	state fakedriver.State
	spare []int // GPUs that no test uses
}

const fakeGPUs = 16

var theFake = sync.OnceValue(func() *fake {
	f := &fake{state: fakedriver.Box(fakeGPUs, 0)}
	for i := range f.state.GPUs {
		f.spare = append(f.spare, i)
	}
	if f.library, f.failed = fakedriver.Compile(fakedriver.Current); f.failed != nil {
		return f
	}
	directory, err := os.MkdirTemp("", "vramscope-cuda-")
	if err != nil {
		f.failed = err
		return f
	}
	f.path = filepath.Join(directory, "state")
	if f.failed = os.Setenv("VRAMSCOPE_FAKE_STATE", f.path); f.failed != nil {
		return f
	}
	if f.failed = f.state.Write(f.path); f.failed != nil {
		return f
	}
	f.nvml = nvml.New(nvml.Options{LibraryPath: f.library})
	_, f.devices, f.failed = f.nvml.Open()
	return f
})

func TestMain(m *testing.M) {
	code := m.Run()
	if f := theFake(); f.path != "" {
		_ = os.RemoveAll(filepath.Dir(f.path)) // leftovers are in the temporary directory
	}
	os.Exit(code)
}

// gpu is one GPU of the fake driver.
type gpu struct {
	testing.TB
	*fake
	index   int
	spoiled bool // no other test can use the GPU
}

// newGPU returns a GPU that no other test uses meanwhile.
func newGPU(t testing.TB) *gpu {
	t.Helper()
	f := theFake()
	if f.failed != nil {
		needs.Missing(t, "fake driver: %v", f.failed)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.spare) == 0 {
		t.Fatal("no GPU is left for this test")
	}
	g := &gpu{TB: t, fake: f, index: f.spare[0]}
	f.spare = f.spare[1:]
	t.Cleanup(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !g.spoiled {
			f.spare = append(f.spare, g.index)
		}
	})
	return g
}

// change changes the GPU's state under the running driver.
func (g *gpu) change(change func(*fakedriver.GPU)) {
	g.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	change(&g.state.GPUs[g.index])
	g.state.MustWrite(g, g.path)
}

// start makes a probe process on the GPU; the test steps it.
func (g *gpu) start(pattern Pattern, size quantity.Bytes) *Process {
	g.Helper()
	p, err := Start(g.options(pattern, size))
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() {
		if err := p.Close(); err != nil {
			g.Error(err)
		}
		if left := g.used(); left != 0 {
			g.Errorf("%d bytes are in use after the end", left)
		}
	})
	return p
}

func (g *gpu) options(pattern Pattern, size quantity.Bytes) Options {
	return Options{
		Library: fakedriver.CUDA(g.library), Pattern: pattern, Size: size, Length: 10 * time.Second,
		Choose: func(devices []Device) (Device, error) { return devices[g.index], nil },
	}
}

// play steps a pattern from one time to another.
func (g *gpu) play(p *Process, from, to time.Duration) {
	g.Helper()
	for at := from; at < to; at += stepTime {
		if err := p.step(at); err != nil {
			g.Fatal(err)
		}
	}
}

// used returns this process's memory on the GPU from NVML; 0 if it is not listed.
func (g *gpu) used() quantity.Bytes {
	g.Helper()
	reading, err := g.nvml.Read(g.devices[g.index])
	if err != nil || reading.ProcessesError != nil {
		g.Fatal(err, reading.ProcessesError)
	}
	for _, process := range reading.Processes {
		if process.PID == os.Getpid() {
			return process.Used.Or(-1)
		}
	}
	return 0
}

// free returns the GPU's free memory from NVML.
func (g *gpu) free() quantity.Bytes {
	g.Helper()
	reading, err := g.nvml.Read(g.devices[g.index])
	if err != nil {
		g.Fatal(err)
	}
	return reading.Memory.Free.Or(-1)
}

func (g *gpu) context() quantity.Bytes { return quantity.Bytes(g.state.GPUs[g.index].Context) }

func (g *gpu) stats(p *Process) poolStats {
	g.Helper()
	stats, err := p.holding.pool.stats()
	if err != nil {
		g.Fatal(err)
	}
	return stats
}
