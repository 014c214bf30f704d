//go:build linux && cgo

package reallibraries

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/internal/needs"
)

// backend is one of a library's allocators. The test checks whether its failed
// allocations are rescued, as the table of docs/preload.md says.
type backend struct {
	library, name string
	settings      []string
	wants         int64 // GiB, more than is free beside the neighbours' caches
	first         bool  // the program starts before its neighbours
	lost          bool  // its allocation is not rescued
}

var backends = []backend{
	{library: "torch", name: "default", wants: 55},
	{library: "torch", name: "expandable_segments", wants: 55, settings: []string{"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}},
	{library: "torch", name: "cudaMallocAsync", wants: 55, settings: []string{"PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync"}},
	{library: "jax", name: "preallocation", wants: 40},
	{library: "jax", name: "preallocation off", wants: 40, settings: []string{"XLA_PYTHON_CLIENT_PREALLOCATE=false"}},
	{library: "jax", name: "platform", wants: 40, settings: []string{"XLA_PYTHON_CLIENT_ALLOCATOR=platform"}},
	{library: "jax", name: "cuda_async", wants: 55, settings: []string{"XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async"}},
	{library: "tensorflow", name: "growth", wants: 55, settings: []string{"TF_FORCE_GPU_ALLOW_GROWTH=true"}, first: true},
	{library: "tensorflow", name: "cuda_malloc_async", wants: 55, settings: []string{"TF_GPU_ALLOCATOR=cuda_malloc_async"}},
	// This allocator asks for most of the free memory at the start, and for nothing later.
	{library: "tensorflow", name: "preallocation", wants: 40, lost: true},
	{library: "tensorflow", name: "growth on a full GPU", wants: 55, settings: []string{"TF_FORCE_GPU_ALLOW_GROWTH=true"}, lost: true},
}

// TestRescueOfEachAllocator makes allocations fail beside two idle neighbours with a PyTorch cache.
func TestRescueOfEachAllocator(t *testing.T) {
	neighbours, vramscope := releases(t, "torch")[0], needs.Vramscope(t)
	for _, library := range []string{"torch", "jax", "tensorflow"} {
		t.Run(library, func(t *testing.T) {
			if _, err := os.Stat("/dev/nvidiactl"); err != nil && library == "jax" {
				t.Skipf("JAX uses no GPU: %v, and mounts are not permitted", err)
			}
			for _, site := range releases(t, library) {
				s := guarded(t, vramscope, neighbours, strings.Replace(actsAndTrusts, "[guard]", "[guard]\nmax_per_minute = 60", 1), site)
				idle := []*program{s.start("notebook", byRun), s.start("notebook", byRun)}
				for _, b := range backends {
					if b.library == library {
						t.Run(filepath.Base(site)+"/"+b.name, func(t *testing.T) { b.play(s.within(t), site, idle) })
					}
				}
			}
		})
	}
}

// within returns s for a subtest t: programs that it starts end with t.
func (s *shared) within(t *testing.T) *shared {
	world, part := *s.world, *s
	world.t, part.T, part.world = t, t, &world
	return &part
}

func (b *backend) play(s *shared, site string, idle []*program) {
	s.Helper()
	const cache = 30 * gib
	var train *program
	start := func() { train = s.startOf(site, b.library, "train", withRescue, b.settings...) }
	if b.first {
		start()
	}
	for _, p := range idle {
		p.caches(cache)
	}
	filled := time.Now()
	if !b.first {
		start()
	}
	reserved := func() (sum int64) {
		for _, p := range idle {
			var one int64
			p.must("drop", nil, &one)
			sum += one
		}
		return sum
	}
	// A preallocation takes nothing from the neighbours' caches.
	if kept := reserved(); kept < 2*cache {
		s.Errorf("its start leaves the neighbours %d of %d", kept, 2*cache)
	}
	// A neighbour keeps what it needed itself in the last 20 s.
	time.Sleep(time.Until(filled.Add(22 * time.Second)))
	said := len(s.log())
	a := train.attempt(b.wants * gib)
	kept := reserved()
	s.Logf("stood for %.0f ms: %.60q", a.MS, a.Error)
	switch {
	case b.lost && (a.Error == "" || kept < 2*cache):
		s.Errorf("it gets its memory, or the neighbours keep %d: %q", kept, a.Error)
	case !b.lost && (a.Error != "" || kept >= 2*cache):
		s.Errorf("it is not rescued, or the neighbours keep %d: %q", kept, a.Error)
	case !b.lost:
		eventually(func() bool { return strings.Contains(s.log()[said:], "rescued: an allocation of ") })
	}
	for line := range strings.Lines(s.log()[said:]) {
		if strings.Contains(line, "rescued:") {
			s.Log(strings.TrimSpace(line))
		}
	}
}
