//go:build linux && cgo

package reallibraries

import (
	"fmt"
	"path/filepath"
	"testing"

	"vramscope/internal/needs"
)

// TestTogether checks what only the native probe knows about a program with PyTorch.
func TestTogether(t *testing.T) {
	beyondCore(t)
	sites, vramscope := releases(t, "torch"), needs.Vramscope(t)
	library := pluggable(t, "pluggable")
	for _, site := range sites {
		t.Run(filepath.Base(site), func(t *testing.T) {
			shared := start(t, job{vramscope: vramscope, site: site, how: withShim, command: []string{"python3", "torch_job.py"},
				settings: []string{"VRAMSCOPE_REAL_PLUGGABLE=" + library}})
			t.Run("failed allocations", func(t *testing.T) { failedAllocations(t, shared.begin(t, "exhausted", true, nil)) })
			t.Run("caching off", func(t *testing.T) {
				p := shared.begin(t, "uncached", true, map[string]string{"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"})
				largestAreOf(t, p, "libc10_cuda.so")
			})
			t.Run("pluggable allocator", func(t *testing.T) {
				largestAreOf(t, shared.begin(t, "pluggable", true, nil), filepath.Base(library))
			})
		})
	}
}

// failedAllocations checks that failed calls count for the driver, and out-of-memory
// errors for PyTorch, which tries again after a failed call.
func failedAllocations(t *testing.T, p *program) {
	var errors, failed, rest *int64
	eventually(func() bool {
		shown := p.row(0)
		errors = number(shown.allocator("pytorch"), "out_of_memory_count")
		failed = number(shown.allocator("raw"), "failed_allocations")
		rest = number(shown.allocator("raw"), "out_of_memory_count")
		return errors != nil && *errors == 3 && failed != nil
	})
	if errors == nil || failed == nil || *errors != 3 || *failed <= *errors || rest != nil {
		t.Errorf("%s errors, %s failed allocations, %s more errors", orNone(errors), orNone(failed), orNone(rest))
	}
}

// largestAreOf checks that the largest allocations count for the library, and not for the runtime
// through which they go.
func largestAreOf(t *testing.T, p *program, library string) {
	var largest []any
	eventually(func() bool {
		largest, _ = p.row(0).allocator("raw")["largest"].([]any)
		return len(largest) > 0
	})
	if len(largest) != 8 {
		t.Fatalf("%d largest allocations", len(largest))
	}
	for _, one := range largest {
		if of, _ := one.(map[string]any); of["library"] != library {
			t.Errorf("an allocation of %v, want one of %s", one, library)
		}
	}
}

func orNone(count *int64) string {
	if count == nil {
		return "no"
	}
	return fmt.Sprint(*count)
}
