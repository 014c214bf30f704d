//go:build linux && cgo

package reallibraries

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"vramscope/internal/needs"
)

// configuration is a way in which programs use PyTorch's allocators.
type configuration struct {
	name, way string
	settings  map[string]string
	alone     bool  // the settings are read at the import, so the program is a separate one
	below     bool  // started by another Python program
	last      bool  // runs in the program itself, not in a child, so no other configuration can follow
	core      bool  // tested with every change
	devices   []int // default: 0
	cacheless bool  // has no cache, or none that can be flushed
	history   bool
}

func conf(settings string) map[string]string {
	return map[string]string{"PYTORCH_CUDA_ALLOC_CONF": settings}
}

var torchConfigurations = []configuration{
	{name: "expandable segments", way: "plain", settings: conf("expandable_segments:True"), core: true},
	{name: "cudaMallocAsync", way: "plain", settings: conf("backend:cudaMallocAsync"), alone: true, core: true},
	{name: "garbage_collection_threshold", way: "collected", settings: conf("garbage_collection_threshold:0.6")},
	{name: "max_split_size_mb", way: "plain", settings: conf("max_split_size_mb:32")},
	{name: "roundup_power2_divisions", way: "plain", settings: conf("roundup_power2_divisions:4")},
	{name: "two GPUs", way: "two_gpus", core: true, devices: []int{0, 1}},
	{name: "GPU 1 alone", way: "second_gpu", devices: []int{1}},
	{name: "MemPool", way: "pool", core: true},
	{name: "CUDA graph", way: "graph", core: true},
	{name: "CUDA graph, expandable segments", way: "graph", settings: conf("expandable_segments:True")},
	{name: "record_stream", way: "streams"},
	{name: "pinned memory", way: "pinned"},
	{name: "out of memory", way: "exhausted", core: true},
	{name: "history recorded", way: "history", history: true},
	{name: "cudaMalloc beside", way: "mixed"},
	{name: "caching off", way: "uncached", settings: map[string]string{"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}, cacheless: true},
	{name: "pluggable allocator", way: "pluggable", cacheless: true},
	{name: "subprocess", way: "plain", alone: true, below: true},
	{name: "DataLoader", way: "loader"},
	{name: "DataLoader, workers on the GPU", way: "spawned"},
	{name: "native", way: "plain", last: true, core: true},
}

// TestPyTorch compares, for each release, configuration and way of getting a probe in, what
// vramscope shows with the allocator's own figures and the driver's, and what a flush frees with
// what was predicted.
func TestPyTorch(t *testing.T) {
	needs.Tool(t, "python3")
	sites, vramscope := releases(t, "torch"), needs.Vramscope(t)
	core := os.Getenv("VRAMSCOPE_REAL_CORE") != ""
	ways := []string{byRun, byAttach, withShim}
	if core {
		ways = []string{byRun}
	}
	library := pluggable(t, "pluggable")
	for _, site := range sites {
		for _, how := range ways {
			t.Run(filepath.Base(site)+"/"+how, func(t *testing.T) {
				t.Parallel()
				j := job{vramscope: vramscope, site: site, how: how, command: []string{"python3", "torch_job.py"},
					settings: []string{"VRAMSCOPE_REAL_PLUGGABLE=" + library}}
				shared := start(t, j)
				for _, c := range torchConfigurations {
					if core && !c.core {
						continue
					}
					t.Run(c.name, func(t *testing.T) { c.compare(t, shared) })
				}
			})
		}
	}
}

// pluggable compiles an allocator of testdata for PyTorch, and returns the library's path.
func pluggable(t *testing.T, name string) string {
	t.Helper()
	needs.Tool(t, "cc")
	library := filepath.Join(t.TempDir(), name+".so")
	if out, err := exec.Command("cc", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", library, "testdata/"+name+".c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return library
}

func (c configuration) compare(t *testing.T, shared *program) {
	into := newCell(t, shared.job, c.name)
	p := shared
	if c.alone {
		j := shared.job
		j.settings = slices.Clone(j.settings)
		for name, value := range c.settings {
			j.settings = append(j.settings, name+"="+value)
		}
		if c.below {
			j.command = append([]string{"python3", "-c", "import subprocess, sys; sys.exit(subprocess.call([sys.executable] + sys.argv[1:]))"}, j.command[1:]...)
		}
		p = start(t, j)
	}
	p = p.begin(t, c.way, !c.alone && !c.last, c.settings)
	devices := c.devices
	if devices == nil {
		devices = []int{0}
	}
	for _, device := range devices {
		p.settle(into, device)
	}
	if !c.cacheless && c.name != "cudaMallocAsync" {
		p.snapshot(into, devices, c.history)
	}
	if !c.cacheless {
		p.flush(into, devices)
	}
	into.cost(p)
}

func TestMain(m *testing.M) {
	withDevices()
	os.Exit(m.Run())
}
