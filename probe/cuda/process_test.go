//go:build linux && cgo

package cuda

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
	"vramscope/internal/quantity"
)

// TestPatternsReachSize checks at each step that NVML's figure is the sum of the
// reserved memory and the context, to the byte.
func TestPatternsReachSize(t *testing.T) {
	const size = 768*quantity.MiB + 12345
	for _, pattern := range Patterns() {
		t.Run(string(pattern), func(t *testing.T) {
			g := newGPU(t)
			p := g.start(pattern, size)
			var most quantity.Bytes
			for at := time.Duration(0); at < 16*time.Second; at += stepTime {
				g.play(p, at, at+stepTime)
				reserved := g.stats(p).reserved
				if reserved > size {
					t.Fatalf("at %s %d bytes are reserved of %d", at, reserved, size)
				}
				if used := g.used(); used != reserved+g.context() {
					t.Fatalf("at %s NVML reports %d bytes, the stats %d and a context of %d", at, used, reserved, g.context())
				}
				most = max(most, reserved)
			}
			if most <= size-chunk {
				t.Errorf("at most %d bytes were reserved of %d", most, size)
			}
		})
	}
}

func TestAllocatedMatchesLiveBlocks(t *testing.T) {
	g := newGPU(t)
	p := g.start(Sawtooth, quantity.GiB)
	g.play(p, 0, 6*time.Second)
	at := 6*time.Second - stepTime
	want := quantity.Bytes(p.holding.plan.permanent+liveAt(&p.timeline, at)) * p.holding.plan.block
	if pool := g.stats(p); pool.used != want {
		t.Errorf("allocated %d, want %d", pool.used, want)
	}
}

// TestTimelineIsIndependentOfSteps: a delayed process has the same live blocks once
// it has caught up.
func TestTimelineIsIndependentOfSteps(t *testing.T) {
	const until = 21 * time.Second
	live := func(steps ...[2]time.Duration) (live []bool) {
		t.Run("", func(t *testing.T) {
			g := newGPU(t)
			p := g.start(Sawtooth, quantity.GiB)
			for _, s := range steps {
				g.play(p, s[0], s[1])
			}
			for _, block := range p.holding.blocks {
				live = append(live, block != 0)
			}
		})
		return live
	}
	if !slices.Equal(live([2]time.Duration{0, until}), live([2]time.Duration{0, time.Second}, [2]time.Duration{until - stepTime, until})) {
		t.Error("the two have different live blocks")
	}
}

// TestStartRefuses also checks that a failed start frees its memory.
func TestStartRefuses(t *testing.T) {
	g := newGPU(t)
	o := g.options(Steady, quantity.GiB)
	o.Library = filepath.Join(t.TempDir(), "libcuda.so.1")
	if _, err := Start(o); !errors.Is(err, ErrLibraryNotFound) {
		t.Errorf("without a library: %v", err)
	}
	o = g.options(Steady, quantity.GiB)
	o.Library = g.library // another library, which loads
	if _, err := Start(o); !errors.Is(err, ErrTooOld) {
		t.Errorf("with a library of another kind: %v", err)
	}

	free := g.free() - g.context()
	var size *SizeError
	if _, err := Start(g.options(Steady, free-spare+1)); !errors.As(err, &size) {
		t.Fatalf("one byte too many: %v", err)
	}
	if size.Free != free {
		t.Errorf("refused with %+v, with %d free", size, free)
	}
	if left := g.used(); left != 0 {
		t.Errorf("%d bytes are in use after a refusal", left)
	}

	g.change(func(gpu *fakedriver.GPU) { gpu.Fail("cuMemPoolCreate", 2) })
	if _, err := Start(g.options(Steady, quantity.GiB)); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("pool refused by the driver: %v", err)
	}
	g.change(func(gpu *fakedriver.GPU) { gpu.Heal() })
	if left := g.used(); left != 0 {
		t.Errorf("%d bytes are in use after a failed start", left)
	}
	g.start(Steady, free-spare)
}

// TestSpareMemoryIsKeptFree: the pattern waits while another process needs the
// memory.
func TestSpareMemoryIsKeptFree(t *testing.T) {
	g := newGPU(t)
	p := g.start(Leak, 2*quantity.GiB)
	other := uint64(0)
	g.change(func(gpu *fakedriver.GPU) {
		other = uint64(g.free() - 700*quantity.MiB)
		gpu.Start(fakedriver.NewProcess(4_200_000, other))
	})
	g.play(p, 0, 12*time.Second)
	if left := g.free(); left < spare || left >= spare+chunk {
		t.Errorf("%d bytes of the GPU are left free, want %d and less than a chunk more", left, spare)
	}
	g.change(func(gpu *fakedriver.GPU) { gpu.End(4_200_000) })
	g.play(p, 12*time.Second, 13*time.Second)
	if pool := g.stats(p); pool.reserved <= 2*quantity.GiB-chunk {
		t.Errorf("after the other process: %+v", pool)
	}
}

func TestRefusedAllocationIsTriedAgain(t *testing.T) {
	g := newGPU(t)
	p := g.start(Leak, 2*quantity.GiB)
	p.holding.reserve = -chunk * 100
	g.change(func(gpu *fakedriver.GPU) {
		gpu.Start(fakedriver.NewProcess(4_200_000, uint64(g.free()-100*quantity.MiB)))
	})
	g.play(p, 0, 11*time.Second)
	pool := g.stats(p)
	if got := g.used() - g.context(); got != pool.reserved || got > quantity.GiB {
		t.Errorf("after refusals NVML reports %d, the stats %d", got, pool.reserved)
	}
	g.change(func(gpu *fakedriver.GPU) { gpu.End(4_200_000) })
	g.play(p, 11*time.Second, 12*time.Second)
	if pool := g.stats(p); pool.reserved <= 2*quantity.GiB-chunk {
		t.Errorf("with free memory again: %+v", pool)
	}
}

// TestUnexpectedGrowthIsUndone: the driver's pools grow in larger chunks than
// planned.
func TestUnexpectedGrowthIsUndone(t *testing.T) {
	g := newGPU(t)
	p := g.start(Steady, quantity.GiB)
	h, b := p.holding, g.stats(p)
	if b.idle() >= h.plan.block {
		t.Fatalf("%d bytes are idle: the next block needs no growth", b.idle())
	}
	h.growth = h.plan.block
	h.plan.pool = b.reserved + h.plan.block
	for range 3 {
		at, err := h.allocate(h.plan.block)
		if at != 0 || err != nil {
			t.Errorf("took %d, %v: the pool is larger than planned", at, err)
		}
	}
	if after := g.stats(p); after != b || h.growth != chunk {
		t.Errorf("the pool was %+v and is %+v, growth is %d", b, after, h.growth)
	}
}

func TestLostGPUEndsRun(t *testing.T) {
	g := newGPU(t)
	p, err := Start(g.options(Sawtooth, quantity.GiB))
	if err != nil {
		t.Fatal(err)
	}
	g.spoiled = true
	g.change(func(gpu *fakedriver.GPU) { gpu.Lost = true })
	if err := p.Run(t.Context()); !errors.Is(err, ErrUnavailable) {
		t.Errorf("on a lost GPU the run ends with %v", err)
	}
	if err := p.Close(); err == nil || strings.Count(err.Error(), "CUDA_ERROR") != 1 {
		t.Errorf("Close on a lost GPU: %v, want one reason", err)
	}
}

func TestDevicesMatchNVML(t *testing.T) {
	g := newGPU(t)
	var shown []Device
	o := g.options(Steady, quantity.GiB)
	o.Choose = func(devices []Device) (Device, error) {
		shown = slices.Clone(devices)
		return Device{}, errors.New("none of them")
	}
	if _, err := Start(o); err == nil || err.Error() != "none of them" {
		t.Errorf("the error of Choose became %v", err)
	}
	if len(shown) != len(g.devices) {
		t.Fatalf("CUDA shows %d devices, NVML %d", len(shown), len(g.devices))
	}
	for i, want := range g.devices {
		if d := shown[i]; d.UUID != want.UUID || d.GPU != want.UUID || d.Name != want.Name || d.Ordinal != i || d.Total <= 0 {
			t.Errorf("device %d is %+v, NVML's %s", i, d, want.UUID)
		}
	}
}
