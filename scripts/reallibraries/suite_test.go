//go:build linux && cgo

package reallibraries

import (
	"os"
	"path/filepath"
	"testing"
)

// configurations are the ways in which programs use PyTorch's allocators.
var configurations = []struct {
	name, way string
	settings  string // PYTORCH_CUDA_ALLOC_CONF
	alone     bool   // the setting is read at the import: a program of its own
	last      bool   // not in a child, so nothing can follow
	core      bool
	gpus      int
	ooms      int64
	predicted bound
}{
	{name: "expandable segments", way: "plain", settings: "expandable_segments:True", core: true},
	{name: "cudaMallocAsync", way: "plain", settings: "backend:cudaMallocAsync", alone: true, core: true, predicted: unpredicted},
	{name: "garbage collection", way: "plain", settings: "garbage_collection_threshold:0.6,max_split_size_mb:128"},
	{name: "rounded", way: "plain", settings: "roundup_power2_divisions:4"},
	{name: "two GPUs", way: "two_gpus", core: true, gpus: 2},
	{name: "memory pool", way: "pool", core: true},
	{name: "graph", way: "graph", core: true},
	{name: "graph with expandable segments", way: "graph", settings: "expandable_segments:True"},
	{name: "streams", way: "streams", predicted: atLeast},
	{name: "pinned memory", way: "pinned"},
	{name: "out of memory", way: "exhausted", core: true, ooms: 3},
	{name: "native", way: "plain", last: true, core: true},
}

// bound is how what a flush frees follows from what was predicted.
type bound int

const (
	exactly     bound = iota
	unpredicted       // how much is fragmented is known only after a flush
	atLeast           // a flush waits for streams, and frees what was pending, too
)

// TestRealPyTorch compares, for each release and configuration, what vramscope once
// shows with the allocator's own figures and the driver's; and what a flush frees
// with what was predicted.
func TestRealPyTorch(t *testing.T) {
	vramscope := build(t)
	core := os.Getenv("VRAMSCOPE_REAL_CORE") != ""
	for _, site := range releases(t, "torch") {
		t.Run(filepath.Base(site), func(t *testing.T) {
			shared := start(t, vramscope, site)
			for _, c := range configurations {
				if core && !c.core {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					settings := map[string]string{"PYTORCH_CUDA_ALLOC_CONF": c.settings}
					p := shared
					if c.alone {
						p = start(t, vramscope, site, "PYTORCH_CUDA_ALLOC_CONF="+c.settings)
					}
					p = p.begin(t, c.way, !c.alone && !c.last, settings)
					for device := range max(c.gpus, 1) {
						p.settled(device, c.ooms)
					}
					p.flush(max(c.gpus, 1), c.predicted)
				})
			}
		})
	}
}

// settled waits until a device's row agrees with the program's figures: what a
// probe has reported may be a second old.
func (p *program) settled(device int, ooms int64) {
	p.t.Helper()
	var own figures
	var shown row
	var wrong []string
	p.eventually(func() bool {
		own, shown = p.figures(device), p.row(device)
		wrong = p.differences(device, own, shown, ooms)
		return len(wrong) == 0
	})
	for _, what := range wrong {
		p.t.Errorf("GPU %d: %s\nPyTorch: %+v\nvramscope: %+v", device, what, own, shown)
	}
}

func (p *program) differences(device int, own figures, shown row, ooms int64) []string {
	var wrong []string
	equal := func(what string, got, want int64) {
		if got != want {
			wrong = append(wrong, sprintf("%s: %d, want %d", what, got, want))
		}
	}
	equal("used, by the driver's books", shown.Used, p.capacity[device]-own.Free)
	equal("the sum of the parts", shown.Allocated+shown.Cached+shown.Fragmented+shown.Other, shown.Used)
	equal("allocated, by memory_stats", shown.Allocated, own.Active)
	equal("held, by memory_stats", shown.Allocated+shown.Cached+shown.Fragmented, own.Reserved)
	equal("other: the context alone", shown.Other, contextBytes)
	equal("errors, by memory_stats", own.OOMs, ooms)
	if own.Segments != nil {
		equal("held, by the segments", *own.Segments, own.Reserved)
		equal("allocated, by the blocks", *own.Blocks, own.Active)
	}
	if len(shown.Allocators) != 1 {
		return append(wrong, sprintf("%d allocators", len(shown.Allocators)))
	}
	equal("errors", shown.Allocators[0].OOMs, ooms)
	return wrong
}

// flush frees what was predicted of all devices: the program holds that much less,
// and the driver has that much more.
func (p *program) flush(devices int, how bound) {
	p.t.Helper()
	var predicted, before, free int64
	for device := range devices {
		own := p.figures(device)
		predicted += p.row(device).Returnable
		before, free = before+own.Reserved, free+own.Free
	}
	freed := p.flushed()
	for device := range devices {
		own := p.figures(device)
		before, free = before-own.Reserved, free-own.Free
	}
	as := map[bound]bool{exactly: freed == predicted, unpredicted: true, atLeast: freed >= predicted}
	if freed == 0 || !as[how] || before != freed || -free != freed {
		p.t.Errorf("a flush frees %d; predicted %d, PyTorch holds %d less, the driver has %d more", freed, predicted, before, -free)
	}
	for device := range devices {
		p.settled(device, p.figures(device).OOMs)
	}
}

func TestMain(m *testing.M) {
	// No other probes, no configuration, and paths that are short enough for sockets.
	own, err := os.MkdirTemp("", "real-")
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		if err := os.Setenv(name, own); err != nil {
			panic(err)
		}
	}
	status := m.Run()
	_ = os.RemoveAll(own) // it is in the temporary directory
	os.Exit(status)
}
