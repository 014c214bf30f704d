//go:build linux && cgo

package reallibraries

import (
	"path/filepath"
	"regexp"
	"testing"

	"vramscope/internal/needs"
)

// TestCap: an allocation beyond the limit of vramscope run --cap fails with PyTorch's own error,
// even the first allocation. The box has two GPUs, of which the program sees one, as with a lease.
func TestCap(t *testing.T) {
	for _, site := range releases(t, "torch") {
		for _, backend := range []string{"native", "cudaMallocAsync"} {
			t.Run(filepath.Base(site)+"/"+backend, func(t *testing.T) {
				p := start(t, job{vramscope: needs.Vramscope(t), site: site, how: byRun, command: []string{"python3", "room_job.py"},
					settings: []string{"VRAMSCOPE_CAP=21474836480", "CUDA_VISIBLE_DEVICES=1", "PYTORCH_CUDA_ALLOC_CONF=backend:" + backend}})
				if a := p.attempt(21 * gib); a.Error == "" {
					t.Error("it has 21 GiB")
				}
				for range 19 {
					if a := p.attempt(gib); a.Error != "" {
						t.Fatal(a.Error)
					}
				}
				// The program's first byte takes 2 MiB of the twentieth GiB.
				if a := p.attempt(gib - 2<<20); a.Error != "" {
					t.Error(a.Error)
				}
				a := p.attempt(4 << 20)
				// The last alternative is the whole text of PyTorch 2.4 with cudaMallocAsync.
				if allowed := regexp.MustCompile(`20\.00 GiB (allowed|is allocated)|: 20\.00 GiB|^Allocation on device $`); !allowed.MatchString(a.Error) {
					t.Errorf("the error is %q", a.Error)
				}
			})
		}
	}
}
