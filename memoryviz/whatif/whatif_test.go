package whatif

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"vramscope/internal/needs"
)

// TestStandInsMatchTheirSource: after a change of runtime.c, run scripts/build-what-if.
func TestStandInsMatchTheirSource(t *testing.T) {
	sums, err := os.ReadFile("SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(sums)) {
		lines++
		sum, path, _ := strings.Cut(strings.TrimSpace(line), "  ")
		content, err := os.ReadFile(path)
		if got := fmt.Sprintf("%x", sha256.Sum256(content)); err != nil || got != sum {
			t.Errorf("%s has changed since the stand-ins were built, or is gone: scripts/build-what-if (%v)", path, err)
		}
	}
	if lines != 4 {
		t.Errorf("SHA256SUMS has %d lines", lines)
	}
}

const mib = 1 << 20

// entry is an entry of a history, or another dictionary of a snapshot.
type entry map[string]any

func event(action string, address, size int) entry {
	return entry{"action": action, "addr": address, "size": size, "stream": 0}
}

// history returns the trace of a program that allocates two blocks of 10 MiB, frees one, empties the
// cache, then allocates a block of 40 MiB. The trace alone does not show whether the program emptied the
// cache, or the allocator did for lack of memory; noted adds that.
func history() []entry {
	return []entry{
		event("segment_alloc", 1, 10*mib), event("alloc", 1, 10*mib), event("segment_alloc", 2, 10*mib), event("alloc", 2, 10*mib),
		event("free_requested", 2, 10*mib), event("free_completed", 2, 10*mib), event("segment_free", 2, 10*mib),
		event("segment_alloc", 3, 40*mib), event("alloc", 3, 40*mib),
	}
}

func segment(address, size int) entry {
	return entry{"device": 0, "address": address, "total_size": size, "stream": 0, "segment_pool_id": []int{0, 0},
		"blocks": []entry{{"state": "active_allocated", "size": size}}}
}

// python returns an interpreter with the stand-in for PyTorch in testdata. linked is the content of the
// file in which Replay looks for the name of the CUDA runtime.
func python(t *testing.T, linked string) *Python {
	t.Helper()
	needs.Tool(t, "python3")
	site := t.TempDir()
	if err := os.CopyFS(site, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(site, "torch/lib"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(site+inTorch, []byte(linked), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", site)
	t.Setenv("SECRET", "hunter2")
	p, err := Named(t.Context(), "python3")
	if err != nil || p.site != site {
		t.Fatalf("%+v, %v", p, err)
	}
	return p
}

// pickled makes Python write a value as a pickle.
func pickled(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "python3", "-c", "import json, pickle, sys; pickle.dump(json.load(sys.stdin), sys.stdout.buffer)")
	cmd.Stdin = bytes.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// noted appends the probe's notes for device 2 to a pickle.
func noted(pickle []byte, emptied ...int) []byte {
	return fmt.Appendf(pickle, `{"emptied":{"2":%s}}`, strings.ReplaceAll(fmt.Sprint(emptied), " ", ","))
}

func memory(history []entry, segments ...entry) entry {
	return entry{"device_traces": [][]entry{{}, {}, history}, "segments": append([]entry{}, segments...), "allocator_settings": entry{"PYTORCH_CUDA_ALLOC_CONF": "own"}}
}

func TestReplay(t *testing.T) {
	p := python(t, "needs libcudart.so.12 ")
	on2 := func(s entry) entry { s["device"] = 2; return s }
	doc, err := p.Replay(t.Context(), noted(pickled(t, memory(history(), on2(segment(1, 10*mib)), on2(segment(3, 40*mib)))), 3), []string{"own", "double"}, 0, 0)
	if err != nil || len(doc.Devices) != 1 || doc.Torch != "2.99" {
		t.Fatalf("%+v, %v", doc, err)
	}
	four := 4
	want := Device{Ordinal: 2, Events: 5, Recorded: 50 * mib, Results: []Result{
		{Settings: "own", Reserved: 50 * mib, Allocated: 50 * mib, Smallest: &four},
		{Settings: "double", Reserved: 100 * mib, Allocated: 100 * mib, Smallest: &four},
	}}
	if !reflect.DeepEqual(doc.Devices[0], want) {
		t.Errorf("%+v", doc.Devices[0])
	}
	// The GPU is too small, and with 300 GiB outside of PyTorch no common GPU is large enough.
	doc, err = p.Replay(t.Context(), noted(pickled(t, memory(history(), on2(segment(1, 10*mib)), on2(segment(3, 40*mib)))), 3), []string{}, 45*mib, 300<<30)
	if err != nil || doc.Devices[0].Estimate != nil {
		t.Fatalf("%+v, %v", doc, err)
	}
	if own := doc.Devices[0].Results[0]; own.Failed == nil || !*own.Failed || own.Smallest != nil {
		t.Errorf("%+v", own)
	}
}

func TestWhatIsNoMoreThanAnEstimate(t *testing.T) {
	p := python(t, "libcudart.so.13")
	on2 := func(s entry) entry { s["device"] = 2; return s }
	oom := entry{"action": "oom", "device_free": 10 * mib, "size": 99 * mib, "stream": 0}
	for name, c := range map[string]struct {
		history []entry
		extra   []entry
		notes   []int
		want    string
		events  int
	}{
		"live before, freed":          {append([]entry{event("free_completed", 9, 2*mib), event("segment_free", 9, 2*mib)}, history()...), nil, []int{3}, "does not begin", 8},
		"live before, still":          {history(), []entry{on2(segment(7, 2*mib))}, []int{3}, "does not begin", 6},
		"released by whom":            {history(), nil, nil, "does not say which", 5},
		"another room":                {append(history(), event("segment_alloc", 5, 2*mib)), []entry{on2(segment(5, 2*mib))}, []int{3}, "its own settings", 5},
		"emptied in vain, too":        {history(), nil, []int{2, 3}, "", 6},
		"by the allocator, it failed": {append(slices.Delete(history(), 7, 9), oom), []entry{}, nil, "", 4},
		"by both, then it failed":     {append(history(), oom), nil, nil, "does not say which", 6},
		"noted, then it failed":       {append(history(), oom), nil, []int{3}, "", 6},
	} {
		t.Run(name, func(t *testing.T) {
			segments := append(c.extra, on2(segment(1, 10*mib)), on2(segment(3, 40*mib)))
			if name == "another room" {
				segments[0]["blocks"] = []entry{}
			}
			if failed := c.history[len(c.history)-2]["action"] == "segment_free"; failed {
				segments = segments[:1]
			}
			file := pickled(t, memory(c.history, segments...))
			if c.notes != nil {
				file = noted(file, c.notes...)
			}
			doc, err := p.Replay(t.Context(), file, []string{}, 0, 0)
			if err != nil || len(doc.Devices) != 1 {
				t.Fatalf("%+v, %v", doc, err)
			}
			d, reason := doc.Devices[0], ""
			if d.Estimate != nil {
				reason = string(*d.Estimate)
			}
			if !strings.Contains(reason, c.want) || c.want == "" && reason != "" || d.Events != c.events || d.Failed != strings.Contains(name, "failed") {
				t.Errorf("%+v: %q", d, reason)
			}
		})
	}
}

func TestWhatIsNotReplayed(t *testing.T) {
	pool := segment(1, mib)
	pool["segment_pool_id"] = []int{0, 1}
	call := []byte("cos\nsystem\n(S'touch hacked'\ntR.")
	for _, c := range []struct {
		linked   string
		snapshot []byte
		settings string
		want     string
	}{
		{"static", pickled(t, memory(history())), "", "built in"},
		{"libcudart.so.12", pickled(t, memory(history(), func() entry { pool["device"] = 2; return pool }())), "", "private pool"},
		{"libcudart.so.12", pickled(t, memory([]entry{event("alloc", 1, mib)})), "unknown", "took the settings"},
		{"libcudart.so.12", call, "", "no system of os"},
		{"libcudart.so.12", []byte("no pickle"), "", "Error"},
	} {
		p := python(t, c.linked)
		if _, err := p.Replay(t.Context(), c.snapshot, []string{c.settings}, 0, 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
	p := python(t, "libcudart.so.12")
	nvidia := filepath.Join(p.site, "torch/nvidia")
	if err := os.Mkdir(nvidia, 0o700); err != nil {
		t.Fatal(err)
	}
	compiler := exec.CommandContext(t.Context(), "cc", "-shared", "-o", filepath.Join(nvidia, "libcudart.so.12"), "-x", "c", "/dev/null")
	if out, err := compiler.CombinedOutput(); err != nil {
		needs.Missing(t, "no C compiler: %s", out)
	}
	if _, err := p.Replay(t.Context(), pickled(t, memory(history())), []string{}, 0, 0); err == nil || !strings.Contains(err.Error(), "libcudart.so.12 is loaded") {
		t.Errorf("NVIDIA's runtime: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := p.Replay(ended, pickled(t, memory(history())), []string{}, 0, 0); err == nil {
		t.Error("it is replayed after its end")
	}
}

// If not even the first allocation fits, nothing was reserved, and nothing is fragmented.
func TestNothingFits(t *testing.T) {
	p := python(t, "libcudart.so.12")
	doc, err := p.Replay(t.Context(), pickled(t, memory(history())), []string{}, mib, 0)
	if err != nil || len(doc.Devices) != 1 {
		t.Fatalf("%+v, %v", doc, err)
	}
	if own := doc.Devices[0].Results[0]; own.Failed == nil || !*own.Failed || own.Reserved != 0 || own.Fragmented != 0 {
		t.Errorf("%+v", own)
	}
	doc, err = p.Replay(t.Context(), pickled(t, memory([]entry{event("free_requested", 1, mib)})), []string{}, 0, 0)
	if err != nil || len(doc.Devices) != 0 {
		t.Errorf("a history without an allocation: %+v, %v", doc, err)
	}
}

// Under root, another user's files run with that user's rights, and files of two users are refused.
func TestRightsAreThoseOfTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		needs.Missing(t, "root, to give files away")
	}
	directory := t.TempDir()
	link, other, venv := directory+"/python3", directory+"/other", directory+"/a b"
	if err := errors.Join(os.Symlink("/proc/self/exe", link), os.Lchown(link, 65534, 65534), os.Mkdir(other, 0o700), os.Chown(other, 1234, 1234)); err != nil {
		t.Fatal(err)
	}
	var p Python
	if err := p.owned("/", directory+"/none"); err != nil || p.uid != 0 {
		t.Errorf("root's alone: %d, %v", p.uid, err)
	}
	if err := p.owned("/", link); err != nil || p.uid != 65534 {
		t.Errorf("a link of another user's to a file of root's: %d, %v", p.uid, err)
	}
	if err := p.owned(link, other); err == nil {
		t.Error("the files of two users are run together")
	}
	// The .pth files of a virtual environment are not run. Here its path is relative, and has a blank.
	site := venv + "/lib/python" + pythonVersion(t) + "/site-packages"
	if err := errors.Join(os.MkdirAll(site+"/torch/lib", 0o755), os.WriteFile(site+inTorch, nil, 0o600), os.MkdirAll(venv+"/bin", 0o755),
		os.WriteFile(site+"/evil.pth", []byte("import os; os.mkdir('"+directory+"/ran')\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	python3, err := exec.LookPath("python3")
	if err := errors.Join(err, os.Symlink(python3, venv+"/bin/python3")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(directory)
	found, err := Named(t.Context(), "a b/bin/python3")
	if err != nil || found.site != site {
		t.Errorf("%+v, %v, want %s", found, err, site)
	}
	if _, err := os.Stat(directory + "/ran"); err == nil {
		t.Error("a .pth file was run")
	}
}

func pythonVersion(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2], end='')").Output()
	if err != nil {
		needs.Missing(t, "no python3: %v", err)
	}
	return string(out)
}

func TestPythonOfAProcess(t *testing.T) {
	p, err := Of(os.Getpid())
	if err != nil || p.site != "" || p.path == "" || int(p.uid) != os.Geteuid() {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := p.Replay(t.Context(), nil, []string{}, 0, 0); err == nil || !strings.Contains(err.Error(), "no PyTorch") {
		t.Errorf("%v", err)
	}
	if _, err := Of(1 << 30); err == nil {
		t.Error("a process that is not there has a Python")
	}
}
