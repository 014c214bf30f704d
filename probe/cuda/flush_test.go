//go:build linux && cgo

package cuda

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/probe"
)

func (g *gpu) flush(p *Process, request probe.FlushRequest) probe.FlushResult {
	g.Helper()
	result, err := p.Flush(g.Context(), request)
	if err != nil {
		g.Fatal(err)
	}
	return result
}

// TestFlushReportsDriverDrop: the driver's figure falls by what the flush reports, to
// the byte, and what remains unused is fragmented.
func TestFlushReportsDriverDrop(t *testing.T) {
	for _, level := range []probe.Level{probe.Gradual, probe.Selective, probe.Urgent} {
		t.Run(string(level), func(t *testing.T) {
			g := newGPU(t)
			p := g.start(Sawtooth, quantity.GiB)
			g.play(p, 0, 4*time.Second)
			before, _ := g.stats(p)
			used, free := g.used(), g.free()

			dry := g.flush(p, probe.FlushRequest{Level: level, DryRun: true})
			if freed(dry) != *before.CachedBytes || !strings.Contains(strings.Join(dry.Notes, "\n"), "at most") {
				t.Errorf("a dry run returns %+v, cached is %d", dry, *before.CachedBytes)
			}
			if now, _ := g.stats(p); g.used() != used || now.FragmentedBytes != nil {
				t.Error("a dry run flushed")
			}

			result := g.flush(p, probe.FlushRequest{Level: level})
			after, raw := g.stats(p)
			if freed(result) <= 0 || freed(result) != used-g.used() || freed(result) != g.free()-free {
				t.Errorf("freed %d; NVML's used fell by %d, its free rose by %d", freed(result), used-g.used(), g.free()-free)
			}
			if result.Devices[0].AfterBytes != *after.ReservedBytes+*raw.ReservedBytes || result.SkippedReason != "" {
				t.Errorf("the result is %+v, the pool %+v", result, after)
			}
			if *after.AllocatedBytes != *before.AllocatedBytes {
				t.Errorf("live blocks were %d bytes and are %d", *before.AllocatedBytes, *after.AllocatedBytes)
			}
			// Some blocks outlive their tooth, so that some chunks are fragmented.
			if after.FragmentedBytes == nil || *after.FragmentedBytes == 0 || *after.CachedBytes != 0 || *after.ReturnableBytes != 0 {
				t.Errorf("after the flush the pool is %+v, want a fragmented rest and nothing cached", after)
			}
			if again := g.flush(p, probe.FlushRequest{Level: level}); freed(again) != 0 {
				t.Errorf("a second flush freed %d", freed(again))
			}
			notes := strings.Join(result.Notes, "\n")
			if !strings.Contains(notes, "free on the GPU by the driver: "+free.String()+" before, "+g.free().String()+" after") {
				t.Errorf("the notes lack the driver's figure: %q", notes)
			}
			if (level == probe.Selective) != strings.Contains(notes, "no evictable caches are registered") {
				t.Errorf("the notes of %s are %q", level, notes)
			}

			// Memory freed from now on is cached again.
			g.play(p, 4*time.Second, 15*time.Second)
			later, _ := g.stats(p)
			if *later.CachedBytes <= *before.CachedBytes/2 || *later.FragmentedBytes > *after.FragmentedBytes {
				t.Errorf("a tooth later the pool is %+v", later)
			}
			if f := p.Figures(); f.Flushes != 2 || f.Flushed != freed(result) {
				t.Errorf("the figures count %d flushes of %d", f.Flushes, f.Flushed)
			}
		})
	}
}

// TestFlushOfFragmentedPoolFreesNothing: every chunk has a live block, and the stats
// show it from then on.
func TestFlushOfFragmentedPoolFreesNothing(t *testing.T) {
	g := newGPU(t)
	p := g.start(Fragment, quantity.GiB)
	g.play(p, 0, 5*time.Second)
	before, _ := g.stats(p)
	if *before.CachedBytes < 300*quantity.MiB {
		t.Fatalf("only %d bytes are unused", *before.CachedBytes)
	}
	result := g.flush(p, probe.FlushRequest{Level: probe.Urgent})
	after, _ := g.stats(p)
	if freed(result) != 0 || *after.FragmentedBytes != *before.CachedBytes || *after.CachedBytes != 0 {
		t.Errorf("freed %d; the pool is %+v", freed(result), after)
	}
	// The pattern continues in the fragmented memory.
	g.play(p, 5*time.Second, 21*time.Second)
	if full, _ := g.stats(p); *full.AllocatedBytes != *full.ReservedBytes || *full.FragmentedBytes != 0 {
		t.Errorf("when full again, the pool is %+v", full)
	}
}

func TestFlushKeepsRequestedBytes(t *testing.T) {
	g := newGPU(t)
	p := g.start(Sawtooth, quantity.GiB)
	g.play(p, 0, 4*time.Second)
	before, _ := g.stats(p)
	keep := *before.CachedBytes / 2
	dry := g.flush(p, probe.FlushRequest{Level: probe.Gradual, KeepBytes: keep, DryRun: true})
	if freed(dry) != *before.CachedBytes-keep {
		t.Errorf("a dry run frees %d of %d, keeping %d", freed(dry), *before.CachedBytes, keep)
	}
	result := g.flush(p, probe.FlushRequest{Level: probe.Gradual, KeepBytes: keep})
	after, _ := g.stats(p)
	if *after.CachedBytes < keep || *after.CachedBytes >= keep+chunk || freed(result) != *before.CachedBytes-*after.CachedBytes {
		t.Errorf("%d of %d are still cached, want %d", *after.CachedBytes, *before.CachedBytes, keep)
	}
	if after.FragmentedBytes != nil {
		t.Error("fragmented is reported after a partial flush")
	}
	all := g.flush(p, probe.FlushRequest{Level: probe.Gradual, KeepBytes: quantity.TiB})
	if freed(all) != 0 {
		t.Errorf("keeping everything freed %d", freed(all))
	}
}

// TestGradualFlushInSteps: each request keeps less and frees more.
func TestGradualFlushInSteps(t *testing.T) {
	g := newGPU(t)
	p := g.start(Sawtooth, quantity.GiB)
	g.play(p, 0, 4*time.Second)
	before, _ := g.stats(p)
	used := g.used()
	for left := quantity.Bytes(3); left >= 0; left-- {
		result := g.flush(p, probe.FlushRequest{Level: probe.Gradual, KeepBytes: *before.CachedBytes / 4 * left})
		if freed(result) <= 0 || freed(result) > *before.CachedBytes/4+chunk {
			t.Errorf("with %d quarters to keep it freed %d of %d", left, freed(result), *before.CachedBytes)
		}
		if freed(result) != used-g.used() {
			t.Errorf("freed %d, NVML's used fell by %d", freed(result), used-g.used())
		}
		used = g.used()
	}
	if after, _ := g.stats(p); *after.CachedBytes != 0 || after.FragmentedBytes == nil {
		t.Errorf("after the last step: %+v", after)
	}
}

func TestFlushOfOtherDevicesDoesNothing(t *testing.T) {
	g := newGPU(t)
	p := g.start(Sawtooth, quantity.GiB)
	g.play(p, 0, 4*time.Second)
	used := g.used()
	result := g.flush(p, probe.FlushRequest{Level: probe.Urgent, Devices: []string{"GPU-1"}})
	if len(result.Devices) != 0 || result.SkippedReason == "" || g.used() != used {
		t.Errorf("a flush of another GPU did %+v", result)
	}
	result = g.flush(p, probe.FlushRequest{Level: probe.Urgent, Devices: []string{"GPU-1", p.Device().UUID}})
	if freed(result) <= 0 {
		t.Errorf("a flush of this GPU among others did %+v", result)
	}
}

// freed is what a flush freed on all devices.
func freed(result probe.FlushResult) quantity.Bytes {
	var sum quantity.Bytes
	for _, d := range result.Devices {
		sum += d.FreedBytes
	}
	return sum
}
