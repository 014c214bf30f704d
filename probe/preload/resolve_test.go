//go:build linux

package preload_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vramscope/internal/needs"
	"vramscope/probe/preload"
)

func TestLinkerFlags(t *testing.T) {
	for name, flags := range map[string][]string{
		"-z now": {"-Wl,-z,now"}, "-z lazy": {"-Wl,-z,lazy"}, "not PIE": {"-no-pie"}, "-Bsymbolic": {"-Wl,-Bsymbolic"},
	} {
		t.Run(name, func(t *testing.T) { compare(t, program(t, "linked", flags...), "linked", "linear", nil) })
	}
	t.Run("LD_BIND_NOW", func(t *testing.T) {
		compare(t, program(t, "dlsym"), "dlsym", "linear", []string{"LD_BIND_NOW=1"})
	})
}

// TestUnseenContexts: for a context made current by calls that are not hooked, the
// library asks the driver for the memory's device.
func TestUnseenContexts(t *testing.T) {
	for _, way := range []string{"dlsym", "linked"} {
		t.Run(way, func(t *testing.T) { compare(t, program(t, way), way, "unseen", nil) })
	}
}

func TestForkWhileAllocating(t *testing.T) {
	compare(t, program(t, "dlsym"), "dlsym", "fork-storm", nil)
}

// TestOtherPreloadedLibraries: one library calls dlsym(RTLD_NEXT), another one also hooks dlsym. The
// program prints how many calls they count, which must not change.
func TestOtherPreloadedLibraries(t *testing.T) {
	other := build(t, "interposer.so", []string{"testdata/interposer.c"}, "-shared", "-fPIC")
	greedy := build(t, "interposer-dlsym.so", []string{"testdata/interposer.c"}, "-shared", "-fPIC", "-DDLSYM")
	for _, way := range []string{"linked", "dlsym", "proc2"} {
		for name, library := range map[string]string{"other": other, "hooking dlsym": greedy} {
			// vramscope run puts the library last.
			t.Run(way+", after "+name, func(t *testing.T) {
				compare(t, program(t, way), way, "linear", []string{"LD_PRELOAD=" + library})
			})
			t.Run(way+", before "+name, func(t *testing.T) {
				b := newBox(t)
				plain := b.startIn(append(slices.Clone(b.environ), "LD_PRELOAD="+library), program(t, way), way, "linear")
				plain.end()
				watched := b.startIn(append(slices.Clone(b.environ), "LD_PRELOAD="+b.library+":"+library), program(t, way), way, "linear")
				if !slices.Equal(plain.out, watched.out) {
					t.Errorf("without the library:\n%s\nwith it:\n%s", strings.Join(plain.out, "\n"), strings.Join(watched.out, "\n"))
				}
				// With dlsym, the library that hooks dlsym calls libcuda past ours, so our stats are not
				// checked.
				if library != greedy || way != "dlsym" {
					checkStats(t, watched)
				}
				watched.end()
			})
		}
	}
}

// TestMuslProgram: a shell with LD_PRELOAD set may start a program for musl. The
// program must find its symbols and exit as without the library.
func TestMuslProgram(t *testing.T) {
	compiler := needs.Tool(t, "musl-gcc")
	program := filepath.Join(t.TempDir(), "program")
	if out, err := exec.Command(compiler, "-o", program, "testdata/other_libc.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	library, err := preload.Install(t.TempDir())
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+library)
	out, _ := cmd.CombinedOutput() // the exit code is checked
	if code := cmd.ProcessState.ExitCode(); code != 3 || string(out) != "1 1 1 loaded\n" {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestPlugins opens a library that is linked with libcuda. With RTLD_DEEPBIND its
// calls are bound to libcuda directly: then there is no probe.
func TestPlugins(t *testing.T) {
	w := workshop(t)
	plugin := build(t, "plugin.so", programSources, "-shared", "-fPIC", "-DLINKED", "-Dmain=plugin_main", "-L", filepath.Dir(w.driver), "-lcuda")
	host := build(t, "host", []string{"testdata/plugin_host.c"})
	for _, binding := range []string{"usual", "deep"} {
		t.Run(binding, func(t *testing.T) {
			b := newBox(t)
			plain := b.start(false, host, plugin, "linked", "linear", binding)
			plain.end()
			watched := b.start(true, host, plugin, "linked", "linear", binding)
			if !slices.Equal(plain.out, watched.out) {
				t.Errorf("without the library:\n%s\nwith it:\n%s", strings.Join(plain.out, "\n"), strings.Join(watched.out, "\n"))
			}
			if binding == "usual" {
				checkStats(t, watched)
			} else if exists(filepath.Join(b.runtime, "vramscope")) {
				t.Error("it serves without having seen a call")
			}
			watched.end()
		})
	}
}

// TestProgramWithoutCUDA: there is no socket and no thread, and dlsym answers as without the
// library.
func TestProgramWithoutCUDA(t *testing.T) {
	idle := build(t, "idle", []string{"testdata/idle.c"})
	for name, arguments := range map[string][]string{"not loaded": nil, "loaded, not used": {"libcuda.so.1"}, "another library": {"libm.so.6"}} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			plain := b.start(false, append([]string{idle}, arguments...)...)
			plain.end()
			watched := b.start(true, append([]string{idle}, arguments...)...)
			if !slices.Equal(plain.out, watched.out) {
				t.Errorf("without the library: %q; with it: %q", plain.out, watched.out)
			}
			threads, err := os.ReadDir("/proc/" + strconv.Itoa(watched.cmd.Process.Pid) + "/task")
			if err != nil || len(threads) != 1 {
				t.Errorf("%d threads: %v", len(threads), err)
			}
			if exists(filepath.Join(b.runtime, "vramscope")) {
				t.Error("it serves")
			}
			watched.end()
		})
	}
}

// TestMissingLibrary: the loader reports it, and the program runs.
func TestMissingLibrary(t *testing.T) {
	b := newBox(t)
	r := b.startIn(append(slices.Clone(b.environ), "LD_PRELOAD="+filepath.Join(t.TempDir(), "libvramscope.so")), program(t, "dlsym"), "dlsym", "linear")
	if code, stderr := r.wait(); code != 7 || !strings.Contains(stderr, "cannot be preloaded") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	if exists(filepath.Join(b.runtime, "vramscope")) {
		t.Error("it serves")
	}
}
