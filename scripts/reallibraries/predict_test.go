//go:build linux && cgo

package reallibraries

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vramscope/internal/needs"
)

// The programs, in Python. Tensors in held stay allocated.
const (
	// Pending blocks: alone in their segment, beside free memory, and beside live blocks.
	pending = `
fill(torch)
side = torch.cuda.Stream()
held.append(tensors(torch, [6 * MIB] * 9 + [30 * MIB] * 4 + [200_000] * 30))
gone = held[-1][::2] + tensors(torch, [3 * MIB, 25 * MIB])
for tensor in gone:
    with torch.cuda.stream(side):
        tensor.fill_(1)
    tensor.record_stream(side)
del held[-1][::2], gone, tensor
`
	// A graph whose memory is partly free.
	graphHolds = `
source = torch.ones(8 * MIB, device=0)
captured = torch.cuda.CUDAGraph()
torch.cuda.synchronize()
with torch.cuda.graph(captured):
    output = [source * 2, torch.empty(40 * MIB, dtype=torch.uint8, device=0)]
del output[1]
fill(torch)
`
	poolHolds = `
fill(torch)
own = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(own):
    output = tensors(torch, [40 * MIB, 24 * MIB, 5 * MIB])
del output[1]
`
	poolGone = poolHolds + `
del own
output.clear()
`
	endCapture = `
with torch.cuda.stream(stream):
    output = source * 2
    captured.capture_end()
captured.replay()
`
	setLater = `
torch.cuda.memory._set_allocator_settings("expandable_segments:True")
fill(torch)
`
)

// predictions are programs, and how exactly a flush of each is predicted.
var predictions = []struct {
	name, code, settings string
	newest               bool // only PyTorch 2.15 can do this
	levels               bool // flush at all levels, not only gradual
	bound                string
	more                 int64 // bytes that are freed beyond the prediction
}{
	{name: "pending", code: pending, levels: true},
	{name: "pending in expandable segments", code: pending, settings: "expandable_segments:True", levels: true},
	{name: "pending beside large blocks", code: pending, settings: "max_split_size_mb:24,garbage_collection_threshold:0.5"},
	{name: "pages of 64 MiB", code: pending, settings: "expandable_segments:True,large_segment_size_mb:64", newest: true},
	{name: "segments of 64 MiB", code: pending, settings: "large_segment_size_mb:64", newest: true},
	{name: "graph", code: graphHolds, bound: "least"},
	{name: "graph in expandable segments", code: graphHolds, settings: "expandable_segments:True", bound: "least"},
	{name: "memory pool", code: poolHolds, bound: "least"},
	{name: "memory pool that is gone", code: poolGone, bound: "least", more: (40 + 20) << 20},
	{name: "settings changed later", code: setLater, bound: "about"},
}

// flushResult is the answer of vramscope flush.
type flushResult struct {
	Outcome string
	Reason  string
	Notes   []string
	Steps   int   `json:"steps_done"`
	Freed   int64 `json:"freed_bytes"`
	Devices []struct {
		Freed       int64 `json:"freed_bytes"`
		DriverFreed int64 `json:"driver_freed_bytes"`
	}
}

func (p *program) flushWith(arguments ...string) flushResult {
	p.t.Helper()
	var document struct{ Flush flushResult }
	p.ask(&document, append([]string{"flush", strconv.Itoa(p.pid), "--yes", "--format", "json"}, arguments...)...)
	return document.Flush
}

func jobOf(vramscope, site string, settings ...string) job {
	return job{vramscope: vramscope, site: site, how: byRun, command: []string{"python3", "torch_job.py"}, settings: settings}
}

func (p *program) do(code string) {
	p.t.Helper()
	p.must("do", map[string]any{"code": code}, new(any))
}

// awaitProbe waits until the program's probe answers.
func (p *program) awaitProbe() {
	p.t.Helper()
	eventually(func() bool { return p.row(0).Allocated != nil })
}

// shown waits until vramscope once predicts what a dry run of a flush predicted, and
// returns the prediction's bound.
func (p *program) shown(predicted int64) string {
	p.t.Helper()
	var shown row
	var wrong []string
	eventually(func() bool {
		shown = p.row(0)
		wrong = differ(nil, "predicted by once", shown.Returnable, predicted)
		return wrong == nil
	})
	if wrong != nil {
		p.t.Error(wrong)
	}
	return shown.Bound
}

// TestRealPrediction compares the prediction for a flush of each level with what the flush frees, by
// its own report, by PyTorch's figures and by the driver's.
func TestRealPrediction(t *testing.T) {
	beyondCore(t)
	sites, vramscope := releases(t, "torch"), needs.Vramscope(t)
	for _, site := range sites {
		t.Run(filepath.Base(site), func(t *testing.T) {
			old := strings.Contains(site, "torch-2.8.")
			shared := start(t, jobOf(vramscope, site))
			for _, c := range predictions {
				if c.newest && old {
					continue
				}
				if c.bound == "about" && old {
					c.bound = "" // all pages have the same size
				}
				for i, level := range levels {
					if i > 0 && !c.levels {
						continue
					}
					t.Run(c.name+"/"+level, func(t *testing.T) {
						p := shared.begin(t, "empty", true, map[string]string{"PYTORCH_CUDA_ALLOC_CONF": c.settings})
						p.do(c.code)
						p.awaitProbe()
						p.checkFlush(level, c.bound, c.more)
					})
				}
			}
		})
	}
}

func (p *program) checkFlush(level, bound string, more int64) {
	p.t.Helper()
	predicted := p.flushWith("--level", level, "--dry-run")
	if got := p.shown(predicted.Freed); got != bound {
		p.t.Errorf("the bound is %q, want %q", got, bound)
	}
	if hedged := slices.ContainsFunc(predicted.Notes, func(note string) bool { return strings.HasPrefix(note, "a") }); hedged != (bound != "") {
		p.t.Errorf("the dry run notes %q", predicted.Notes)
	}
	before := p.figures(0)
	done := p.flushWith("--level", level)
	after := p.figures(0)
	if predicted.Freed == 0 || done.Freed != predicted.Freed+more || before.Stats["reserved_bytes"]-after.Stats["reserved_bytes"] != done.Freed ||
		after.Free-before.Free != done.Freed || done.Devices[0].DriverFreed != done.Freed || done.Outcome != "flushed" {
		p.t.Errorf("%s: predicted %d; %+v; PyTorch holds %d less, the driver has %d more", level, predicted.Freed, done,
			before.Stats["reserved_bytes"]-after.Stats["reserved_bytes"], after.Free-before.Free)
	}
	if again := p.flushWith("--level", level, "--dry-run"); again.Freed != 0 {
		p.t.Errorf("%s: after it another would free %d", level, again.Freed)
	}
}

// TestRealFlushDuringCapture: while a graph is captured, PyTorch 2.8 frees nothing on that GPU, and
// does not say so. PyTorch 2.15 frees as usual in a thread that does not capture. The capture
// continues.
func TestRealFlushDuringCapture(t *testing.T) {
	beyondCore(t)
	sites, vramscope := releases(t, "torch"), needs.Vramscope(t)
	for _, site := range sites {
		t.Run(filepath.Base(site), func(t *testing.T) {
			p := start(t, jobOf(vramscope, site))
			p = p.begin(t, "two_gpus", false, nil)
			p.do(`
captured, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
source = torch.ones(MIB, device=0)
fill(torch)
with torch.cuda.stream(stream):
    captured.capture_begin(capture_error_mode="relaxed")
    tensors(torch, [48 * MIB] * 2, 1)
`)
			p.awaitProbe()
			free := p.figures(0).Free
			done := p.flushWith("--level", "gradual")
			if !strings.Contains(site, "torch-2.8.") {
				if done.Outcome != "flushed" || done.Devices[0].Freed <= 0 || p.figures(0).Free-free != done.Devices[0].Freed {
					t.Errorf("%+v", done)
				}
				p.do(endCapture)
				return
			}
			if done.Outcome != "partly" || done.Reason != "a graph capture was running on 1 of 2 GPUs: PyTorch frees nothing meanwhile" {
				t.Errorf("%+v", done)
			}
			if done.Devices[0].Freed != 0 || done.Devices[1].Freed <= 0 || p.figures(0).Free != free {
				t.Errorf("%+v, %d free before, %d after", done, free, p.figures(0).Free)
			}
			p.do(endCapture)
			if done = p.flushWith("--level", "gradual"); done.Outcome != "flushed" || done.Devices[0].Freed <= 0 {
				t.Errorf("after the capture: %+v", done)
			}
		})
	}
}

// TestRealFlushOfOneGPU: the prediction is for one GPU, but PyTorch flushes the other one, too.
func TestRealFlushOfOneGPU(t *testing.T) {
	beyondCore(t)
	sites, vramscope := releases(t, "torch"), needs.Vramscope(t)
	for _, site := range sites {
		t.Run(filepath.Base(site), func(t *testing.T) {
			p := start(t, jobOf(vramscope, site))
			p = p.begin(t, "two_gpus", false, nil)
			p.do("tensors(torch, [48 * MIB] * 5, 1)")
			p.awaitProbe()
			predicted := p.flushWith("--gpu", "1", "--dry-run")
			before := []figures{p.figures(0), p.figures(1)}
			done := p.flushWith("--gpu", "1")
			if predicted.Freed != 5*48<<20 || done.Freed != predicted.Freed || p.figures(1).Free-before[1].Free != done.Freed {
				t.Errorf("predicted %+v, done %+v", predicted, done)
			}
			if p.figures(0).Free == before[0].Free || !slices.Contains(done.Notes, "PyTorch flushes all its devices at once") {
				t.Errorf("%+v", done)
			}
		})
	}
}

// TestRealFlushOfCUDAMallocAsync: the driver's pool counts memory as used until its stream has freed
// it, so the prediction is an estimate. The flush still frees all that can be freed, in steps or at
// once, and no later prediction promises that memory again.
func TestRealFlushOfCUDAMallocAsync(t *testing.T) {
	beyondCore(t)
	sites, vramscope := releases(t, "torch"), needs.Vramscope(t)
	for _, site := range sites {
		for _, level := range levels {
			t.Run(filepath.Base(site)+"/"+level, func(t *testing.T) {
				p := start(t, jobOf(vramscope, site, "PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync"))
				p = p.begin(t, "empty", false, nil)
				p.do(`
held.append(tensors(torch, [60 * MIB] * 10 + [3 * MIB] * 30))
del held[0][1::2]
torch.cuda.synchronize()
tensors(torch, [150 * MIB])
`)
				var live int64
				for _, size := range []int64{5 * 60, 15 * 3} {
					live += size << 20
				}
				eventually(func() bool { return p.row(0).Bound == "about" })
				before := p.figures(0)
				done := p.flushWith("--level", level)
				after := p.figures(0)
				if done.Outcome != "flushed" || done.Freed <= 0 || before.Stats["reserved_bytes"]-after.Stats["reserved_bytes"] != done.Freed || after.Free-before.Free != done.Freed {
					t.Errorf("%+v; PyTorch holds %d less, the driver has %d more", done, before.Stats["reserved_bytes"]-after.Stats["reserved_bytes"], after.Free-before.Free)
				}
				if after.Stats["allocated_bytes"] != live {
					t.Errorf("%d bytes are live, want %d", after.Stats["allocated_bytes"], live)
				}
				if again := p.flushWith("--level", level, "--dry-run"); again.Freed != 0 {
					t.Errorf("another would free %d", again.Freed)
				}
				if again := p.flushWith("--level", level); again.Outcome != "nothing_to_free" {
					t.Errorf("another: %+v", again)
				}
			})
		}
	}
}
