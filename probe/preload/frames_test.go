//go:build linux && amd64

package preload_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"vramscope/internal/quantity"
	"vramscope/probe"
)

// TestLibraryBehindTheRuntime: an allocation counts for the program that called the runtime
// library, if the library's frames can be followed, and otherwise for the runtime library.
func TestLibraryBehindTheRuntime(t *testing.T) {
	find := build(t, "dl-find-object", []string{"testdata/find_object.c"})
	if exec.Command(find).Run() != nil {
		t.Skip("this libc has no _dl_find_object: glibc has it since 2.35")
	}
	const aligned = 5 * quantity.MiB // the frame of this allocation cannot be followed with every compiler
	for i, c := range []struct {
		flags    []string
		followed bool
	}{
		{[]string{"-O0"}, true},
		{[]string{"-O1"}, true},
		{[]string{"-O2"}, true},
		{[]string{"-Os"}, true},
		{[]string{"-O3", "-fno-omit-frame-pointer", "-fcf-protection"}, true},
		{[]string{"-O2", "-fexceptions"}, true},
		{[]string{"-O2", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"}, false},
	} {
		t.Run(fmt.Sprint(c.flags), func(t *testing.T) {
			name := fmt.Sprintf("libcudart-test%d.so.12", i)
			runtime := build(t, name, []string{"testdata/runtime.c"}, append(c.flags, "-shared", "-fPIC", "-Wl,-soname,"+name)...)
			program := build(t, fmt.Sprintf("runtime-program%d", i), []string{"testdata/runtime.c"}, "-DPROGRAM", runtime,
				"-Wl,-rpath,"+filepath.Dir(runtime))
			r := newBox(t).start(true, program)
			r.sumsByLibrary(15*2*quantity.MiB, 15*2*quantity.MiB)
			seen := 0
			for _, a := range allocators(r.report(), "raw") {
				for _, l := range a.Largest {
					seen++
					want := name
					if c.followed {
						want = filepath.Base(program)
					}
					if l.Library != want && (l.Bytes != aligned || l.Library != name) {
						t.Errorf("%v are of %s, want %s", l.Bytes, l.Library, want)
					}
				}
			}
			if seen != 8 {
				t.Errorf("%d allocations", seen)
			}
			r.end()
		})
	}
}

// TestTooManyCallers: if there are too many callers to count, the sums by caller are left out.
func TestTooManyCallers(t *testing.T) {
	r := newBox(t).start(true, build(t, "callers", []string{"testdata/callers.c"}))
	r.sumsByLibrary(130*quantity.MiB, 0)
	r.end()
}

// sumsByLibrary checks the reserved memory, and the sum of what all libraries have allocated.
func (r *run) sumsByLibrary(wantReserved, wantByLibrary quantity.Bytes) {
	r.Helper()
	var report struct {
		Devices []struct {
			Allocators []struct {
				Reserved  quantity.Bytes `json:"reserved_bytes"`
				Libraries []probe.Allocation
			}
		}
	}
	r.ask(`{"id":1,"cmd":"stats"}`, &report)
	var reserved, byLibrary quantity.Bytes
	for _, d := range report.Devices {
		for _, a := range d.Allocators {
			reserved += a.Reserved
			for _, l := range a.Libraries {
				byLibrary += l.Bytes
			}
		}
	}
	if reserved != wantReserved || byLibrary != wantByLibrary {
		r.Errorf("%v are reserved, by libraries %v, want %v and %v", reserved, byLibrary, wantReserved, wantByLibrary)
	}
}
