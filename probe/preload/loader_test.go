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

// TestLinkedAndOpenedInEveryWay: how a program is bound to libcuda is the
// loader's business, and the library's.
func TestLinkedAndOpenedInEveryWay(t *testing.T) {
	for name, flags := range map[string][]string{
		"-z now": {"-Wl,-z,now"}, "-z lazy": {"-Wl,-z,lazy"}, "not PIE": {"-no-pie"}, "-Bsymbolic": {"-Wl,-Bsymbolic"},
	} {
		t.Run(name, func(t *testing.T) { compare(t, program(t, "linked", flags...), "linked", "linear", nil) })
	}
}

// TestUnseenContexts: memory in a context that was made current behind the
// library's back is found by asking the driver where it is.
func TestUnseenContexts(t *testing.T) {
	for _, way := range []string{"dlsym", "linked"} {
		t.Run(way, func(t *testing.T) { compare(t, program(t, way), way, "unseen", nil) })
	}
}

func TestForkingInTheMiddle(t *testing.T) {
	compare(t, program(t, "dlsym"), "dlsym", "fork-storm", nil)
}

// TestBesideAnotherPreloadedLibrary: one that finds its functions with
// dlsym(RTLD_NEXT), and one that stands in front of dlsym as well. What they
// see stays what it was, too: it is among what the program prints.
func TestBesideAnotherPreloadedLibrary(t *testing.T) {
	other := build(t, "interposer.so", []string{"testdata/interposer.c"}, "-shared", "-fPIC")
	greedy := build(t, "interposer-dlsym.so", []string{"testdata/interposer.c"}, "-shared", "-fPIC", "-DDLSYM")
	for _, way := range []string{"linked", "dlsym", "proc2"} {
		for name, library := range map[string]string{"other": other, "in front of dlsym": greedy} {
			// vramscope run puts the library last.
			t.Run(way+", behind the "+name, func(t *testing.T) {
				compare(t, program(t, way), way, "linear", []string{"LD_PRELOAD=" + library})
			})
			t.Run(way+", before the "+name, func(t *testing.T) {
				b := newBox(t)
				plain := b.startIn(append(slices.Clone(b.environ), "LD_PRELOAD="+library), program(t, way), way, "linear")
				plain.end()
				watched := b.startIn(append(slices.Clone(b.environ), "LD_PRELOAD="+b.library+":"+library), program(t, way), way, "linear")
				if !slices.Equal(plain.out, watched.out) {
					t.Errorf("without the library:\n%s\nwith it:\n%s", strings.Join(plain.out, "\n"), strings.Join(watched.out, "\n"))
				}
				// What the other one gets by itself, past everybody, it alone sees.
				if library != greedy || way != "dlsym" {
					checkBooks(t, watched)
				}
				watched.end()
			})
		}
	}
}

// TestAnotherCLibrary: a program for musl has the library where it is started
// by a shell that has it. It shall find what it looks for, and end as it would.
func TestAnotherCLibrary(t *testing.T) {
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
	out, _ := cmd.CombinedOutput() // its code is checked
	if code := cmd.ProcessState.ExitCode(); code != 3 || string(out) != "1 1 1 loaded\n" {
		t.Errorf("it ended with %d: %s", code, out)
	}
}

// TestPlugins: a library that a program opens, and which was linked with
// libcuda. Opened with RTLD_DEEPBIND it is bound to libcuda before anybody
// can stand in between: then there is no probe, and nothing else changes.
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
				checkBooks(t, watched)
			} else if exists(filepath.Join(b.runtime, "vramscope")) {
				t.Error("it serves, and has seen nothing: docs/preload.md says otherwise")
			}
			watched.end()
		})
	}
}

// TestAProgramWithoutCUDA: nothing is served, no thread started, and what dlsym
// answers is what it would be.
func TestAProgramWithoutCUDA(t *testing.T) {
	idle := build(t, "idle", []string{"testdata/idle.c"})
	for name, arguments := range map[string][]string{"none there": nil, "there, and not used": {"libcuda.so.1"}, "another library": {"libm.so.6"}} {
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
				t.Errorf("it has %d threads: %v", len(threads), err)
			}
			if exists(filepath.Join(b.runtime, "vramscope")) {
				t.Error("it serves")
			}
			watched.end()
		})
	}
}

// TestALibraryThatIsNotThere: the loader says so, and the program runs.
func TestALibraryThatIsNotThere(t *testing.T) {
	b := newBox(t)
	r := b.startIn(append(slices.Clone(b.environ), "LD_PRELOAD="+filepath.Join(t.TempDir(), "libvramscope.so")), program(t, "dlsym"), "dlsym", "linear")
	if code, said := r.wait(); code != 7 || !strings.Contains(said, "cannot be preloaded") {
		t.Errorf("it ended with %d, said %q", code, said)
	}
	if exists(filepath.Join(b.runtime, "vramscope")) {
		t.Error("it serves")
	}
}
