package advice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// story is a box that fires a rule, and what keeps it from firing.
type story struct {
	rule    Rule
	set     func(*box)
	setting string         // a part of it
	text    string         // a part of it
	bytes   quantity.Bytes // -1: unknown
	unless  map[string]func(*box)
}

var stories = []story{
	{Fragmentation, fragments, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "the 6.00G that is free between its blocks becomes usable; 3 allocations had", 6*gib - 20*mib, map[string]func(*box){
		"in force": func(b *box) { b.p.Allocators[0].Config = "expandable_segments:True" },
		"in force by the environment": func(b *box) {
			b.Environment = []process.Variable{{Name: "PYTORCH_CUDA_ALLOC_CONF", Value: "max_split_size_mb:64, expandable_segments:True"}}
		},
		"no allocation failed": func(b *box) { b.p.Probe.AllocRetries = count(0) },
		"too little":           func(b *box) { b.p.Allocators[0].Fragmented = amount(2 * gib) },
		"an old PyTorch":       func(b *box) { b.p.RuntimeVersion = "2.0.1" },
		"vLLM's sleep mode":    func(b *box) { b.p.Command = []string{"vllm", "serve", "--enable-sleep-mode"} },
		"memory is asleep":     func(b *box) { b.p.Asleep = amount(20 * gib) },
		"another allocator":    func(b *box) { b.p.Allocators[0].Kind = "cuda_pool" },
		"unknown":              func(b *box) { b.p.Allocators[0].Fragmented = snapshot.Bytes{} },
		"a rejected probe":     func(b *box) { b.p.Probe.Rejected = "reports 512T" },
		"a lost GPU":           func(b *box) { b.gpu.State = snapshot.GPULost },
	}},
	{Fragmentation, replays, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "True: replayed, 20.0G is reserved at most in place of 29.0G", 9 * gib, map[string]func(*box){
		"it fails, too":     func(b *box) { b.Replayed[2].Fails = true },
		"little is saved":   func(b *box) { b.Replayed[2].Reserved = 29*gib - 100*mib },
		"more is reserved":  func(b *box) { b.Replayed[0].Fails, b.Replayed[2].Reserved = true, 30*gib },
		"vLLM's sleep mode": func(b *box) { b.p.Command = []string{"vllm", "serve", "--enable-sleep-mode"} },
	}},
	{Fragmentation, func(b *box) {
		replays(b)
		b.Replayed[1].Fails, b.Replayed[1].Reserved = false, 19*gib
	}, "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64", "64: replayed, 19.0G is reserved at most in place of 29.0G", 10 * gib, nil},
	{CachedLong, func(b *box) {
		b.p.Cached, b.p.Returnable = amount(20*gib), amount(20*gib)
		b.p.Allocators[0].PeakAllocated = amount(32 * gib)
		b.past.series[metric.Cached] = always(18 * gib)
		b.neighbour(40 * gib).Probe.OutOfMemoryCount = count(1)
	}, "PYTORCH_CUDA_ALLOC_CONF=garbage_collection_threshold:0.8", "18.0G has been cached for 2h, and PID 101 is short of memory", 18 * gib, map[string]func(*box){
		"no process is short": func(b *box) { b.snap.Rows[1].Probe.OutOfMemoryCount = count(0) },
		"in force":            func(b *box) { b.p.Allocators[0].Config = "garbage_collection_threshold:0.6" },
		"not for so long":     func(b *box) { b.past.since = time.Hour },
		"it was used once": func(b *box) {
			b.past.series[metric.Cached] = func(ago time.Duration) quantity.Bytes {
				return map[bool]quantity.Bytes{true: 0, false: 18 * gib}[ago > 30*time.Minute && ago < 31*time.Minute]
			}
		},
		"no flush frees it": func(b *box) { b.p.Returnable = amount(0) },
	}},
	{FlushedInVain, func(b *box) {
		for i := range 4 {
			b.past.events = append(b.past.events, snapshot.Event{Time: now.Add(-time.Duration(10*i+5) * time.Minute), Kind: snapshot.EventFlush, GPUUUID: "GPU-0", Row: b.p.ID, Bytes: amount(4 * gib)})
		}
		b.past.series[metric.Used] = func(ago time.Duration) quantity.Bytes {
			if after := (10*time.Minute - (ago+5*time.Minute)%(10*time.Minute)) % (10 * time.Minute); after < 20*time.Second {
				return 26 * gib
			}
			return 30 * gib
		}
	}, "", "do not flush it: 4 flushes of the last hour, of 16.0G together, came back within a minute", -1, map[string]func(*box){
		"it stayed free": func(b *box) { b.past.series[metric.Used] = always(26 * gib) },
		"twice only":     func(b *box) { b.past.events = b.past.events[:2] },
		"of another": func(b *box) {
			for i := range b.past.events {
				b.past.events[i].Row.Process.PID = 7
			}
		},
		"not measured": func(b *box) { b.past.series[metric.Used] = nil },
	}},
	{EmptiedInLoop, func(b *box) {
		b.past.series[metric.Allocated] = always(20 * gib)
		b.past.series[metric.Cached] = func(ago time.Duration) quantity.Bytes {
			return map[bool]quantity.Bytes{true: 6 * gib, false: 0}[int(ago/time.Second)%10 < 5]
		}
	}, "", "leave torch.cuda.empty_cache() out of the loop: its cache was emptied 59 times in ten minutes, of 6.00G each time", -1, map[string]func(*box){
		"it was allocated": func(b *box) {
			cached := b.past.series[metric.Cached]
			b.past.series[metric.Allocated] = func(ago time.Duration) quantity.Bytes { return 26*gib - cached(ago) }
		},
		"it stays": func(b *box) { b.past.series[metric.Cached] = always(6 * gib) },
		"flushes did it": func(b *box) {
			for i := range 60 {
				b.past.events = append(b.past.events, snapshot.Event{Time: now.Add(-time.Duration(i) * 10 * time.Second), Kind: snapshot.EventFlush, GPUUUID: "GPU-0", Row: b.p.ID})
			}
		},
		"another allocator": func(b *box) { b.p.Allocators[0].Kind = "cupy" },
	}},
	{Preallocation, func(b *box) { preallocates(b, "jax") }, "XLA_PYTHON_CLIENT_PREALLOCATE=false", "it reserves 60.0G, and 4.00G of that is allocated", 55 * gib, map[string]func(*box){
		"in force": func(b *box) { b.p.Allocators[0].Config = "XLA_PYTHON_CLIENT_PREALLOCATE=false" },
		"in force by the environment": func(b *box) {
			b.Environment = []process.Variable{{Name: "XLA_PYTHON_CLIENT_ALLOCATOR", Value: "platform"}}
		},
		"it uses it": func(b *box) { b.p.Cached, b.p.Allocated = amount(3*gib), amount(57*gib) },
		"PyTorch":    func(b *box) { b.p.Allocators[0].Kind = "pytorch" },
	}},
	{Preallocation, func(b *box) { preallocates(b, "tensorflow") }, "TF_FORCE_GPU_ALLOW_GROWTH=true", "it reserves 60.0G", 55 * gib, map[string]func(*box){
		"another allocator": func(b *box) { b.p.Allocators[0].Config = "TF_GPU_ALLOCATOR=cuda_malloc_async" },
	}},
	{Preallocation, func(b *box) {
		preallocates(b, "tensorflow")
		b.p.Allocators[0].Config = "memory_growth=True"
	}, "TF_GPU_ALLOCATOR=cuda_malloc_async", "it reserves 60.0G", 55 * gib, nil},
	{Optimizer, func(b *box) {
		b.trains(32*gib, 34*gib)
		b.p.Optimizer = "AdamW"
	}, "bitsandbytes.optim.Adam8bit", "in place of AdamW: of the 32.0G at a step's end half or more is its state", 12 * gib, map[string]func(*box){
		"SGD":            func(b *box) { b.p.Optimizer = "SGD" },
		"unknown":        func(b *box) { b.p.Optimizer = "" },
		"8 bits already": func(b *box) { b.p.Optimizer = "Adam8bit" },
		"no steps":       func(b *box) { b.past.series[metric.Steps] = always(3000) },
		"a small model":  func(b *box) { b.trains(2*gib, 34*gib) },
	}},
	{Optimizer, func(b *box) { // with the probe's figure in place of an estimate, no steps are needed
		b.p.Optimizer = "AdamW"
		b.Held = holds("parameters", 8*gib, "gradients", 8*gib, "optimizer_state", 16*gib)
	}, "bitsandbytes.optim.Adam8bit", "in place of AdamW: its state is 16.0G", 12 * gib, map[string]func(*box){
		"SGD":        func(b *box) { b.p.Optimizer = "SGD" },
		"it is less": func(b *box) { b.Held = holds("optimizer_state", 6*gib) },
	}},
	{Optimizer, func(b *box) {
		b.p.Optimizer, b.p.Used = "SGD", amount(76*gib)
		b.Held = holds("optimizer_state", 16*gib)
	}, "", "the optimizer's 16.0G of state in host memory", 16 * gib, map[string]func(*box){
		"there is room": func(b *box) { b.p.Used = amount(50 * gib) },
	}},
	{Precision, func(b *box) {
		b.p.Used, b.Held = amount(76*gib), holds("parameters", 20*gib, "gradients", 20*gib)
	}, "", "parameters and gradients in bfloat16, if they are in float32: half of their 40.0G", 20 * gib, map[string]func(*box){
		"there is room": func(b *box) { b.p.Used = amount(50 * gib) },
		"not asked":     func(b *box) { b.Held = nil },
		"they are few":  func(b *box) { b.Held = holds("parameters", 10*gib, "gradients", 10*gib) },
	}},
	{Precision, func(b *box) {
		b.p.Used, b.Held = amount(76*gib), holds("parameters", 60*gib, "activations", gib)
	}, "", "weights in 8 bits (FP8 or int8), if they are in 16: half of their 60.0G", 30 * gib, nil},
	{Activations, func(b *box) {
		b.p.Used, b.Held = amount(76*gib), holds("activations", 40*gib)
	}, "torch.autograd.graph.save_on_cpu", "activations in host memory from the forward to the backward pass: the 40.0G that its probe found", 40 * gib, map[string]func(*box){
		"there is room": func(b *box) { b.p.Used = amount(50 * gib) },
	}},
	{Limits, func(b *box) {
		b.p.Peak, b.p.Allocators[0].PeakAllocated = amount(60*gib), amount(30*gib)
		n := b.neighbour(40 * gib)
		n.Probe.OutOfMemoryCount = count(2)
	}, "torch.cuda.set_per_process_memory_fraction(0.42)", "the peaks of 2 processes add up to 100G of 80.0G, and PID 101 was short of memory", 28024661607, map[string]func(*box){
		"they fit":            func(b *box) { b.snap.Rows[1].Peak = amount(10 * gib) },
		"no process is short": func(b *box) { b.snap.Rows[1].Probe.OutOfMemoryCount = count(0) },
		"it needs it":         func(b *box) { b.p.Allocators[0].PeakAllocated = amount(58 * gib) },
		"the smaller one":     func(b *box) { b.snap.Rows[1].Peak = amount(70 * gib) },
		"alone":               func(b *box) { b.snap.Rows = b.snap.Rows[:1] },
	}},
	{Activations, tall, "torch.utils.checkpoint", "about 60 % of the 44.0G that it takes and frees in a step", 44 * gib * 6 / 10, map[string]func(*box){
		"there is room":  func(b *box) { b.p.Used, b.p.Allocators[0].PeakReserved = amount(30*gib), amount(32*gib) },
		"no steps":       func(b *box) { b.p.Steps = snapshotSteps() },
		"it also sleeps": func(b *box) { b.p.Asleep = amount(20 * gib) },
		"a small tooth":  func(b *box) { b.trains(70*gib, 74*gib) },
		"no peak":        func(b *box) { b.p.Allocators[0].PeakAllocated = snapshot.Bytes{} },
		"no past":        func(b *box) { b.History = nil },
	}},
	{RoomToGrow, func(b *box) { b.trains(6*gib, 16*gib) }, "", "the batch could grow about 7.0×, by a step's 10.0G: no more than 30.0G of 80.0G was used in an hour", 46 * gib, map[string]func(*box){
		"it was full once": func(b *box) {
			b.past.series[metric.Used] = func(ago time.Duration) quantity.Bytes {
				return map[bool]quantity.Bytes{true: 70 * gib, false: 30 * gib}[ago > 40*time.Minute && ago < 41*time.Minute]
			}
		},
		"a neighbour":      func(b *box) { b.neighbour(gib) },
		"too short a time": func(b *box) { b.past.since = 20 * time.Minute },
		"no steps":         func(b *box) { b.p.Steps = snapshotSteps() },
	}},
	{Contexts, func(b *box) {
		b.p.Other = amount(3 * gib / 2)
		for range 3 {
			b.neighbour(5 * gib).Other = amount(2 * gib)
		}
	}, "", "fewer processes: 4 on this GPU have 7.50G outside of their allocators", 3 * gib / 2, map[string]func(*box){
		"small contexts": func(b *box) { b.p.Other = amount(gib / 2) },
		"few processes":  func(b *box) { b.snap.Rows = b.snap.Rows[:2] },
		"unknown":        func(b *box) { b.p.Other = snapshot.Bytes{} },
	}},
	{Imbalance, func(b *box) { ranks(b, 30, 18, 18, 20) }, "", "even shares: rank 0 uses 30.0G, the other 3 ranks 18.0G to 20.0G", 30*gib - 86*gib/4, map[string]func(*box){
		"alike":             func(b *box) { b.p.Used = amount(24 * gib) },
		"not the largest":   func(b *box) { b.snap.Rows[3].Used = amount(31 * gib) },
		"one is unknown":    func(b *box) { b.snap.Rows[2].Used = snapshot.Bytes{} },
		"of another parent": func(b *box) { b.p.Parent = 9 },
		"orphans": func(b *box) {
			for i := range b.snap.Rows {
				b.snap.Rows[i].Parent = 1
			}
		},
		"on a MIG instance":         func(b *box) { b.p.ID.Instance = snapshot.InstanceID{MIG: true} },
		"another is on an instance": func(b *box) { b.snap.Rows[2].ID.Instance = snapshot.InstanceID{MIG: true} },
		"of another user":           func(b *box) { b.p.UID = quantity.From(uint32(7), quantity.System) },
		"two jobs":                  func(b *box) { b.snap.Rows[2].Hints = b.snap.Rows[1].Hints },
		"a stray context":           func(b *box) { b.snap.Rows[1].Used = amount(gib / 2) },
		"no ranks":                  func(b *box) { b.p.Hints.Rank = quantity.Optional[int]{} },
	}},
	{Imbalance, func(b *box) { // tasks of Slurm, each below a shell of its own
		ranks(b, 30, 18)
		b.snap.Rows[1].Parent = 8
		for i := range b.snap.Rows {
			b.snap.Rows[i].Job = process.Job{Kind: "slurm", ID: "7", Step: "0"}
		}
	}, "", "even shares: rank 0 uses 30.0G, the other rank 18.0G", 6 * gib, map[string]func(*box){
		"another step": func(b *box) { b.p.Job.Step = "1" },
	}},
	{Imbalance, func(b *box) { // the launcher of the step's tasks has ended
		ranks(b, 30, 18)
		for i := range b.snap.Rows {
			b.snap.Rows[i].Parent, b.snap.Rows[i].Job = 1, process.Job{Kind: "slurm", ID: "7", Step: "0"}
		}
	}, "", "even shares: rank 0 uses 30.0G, the other rank 18.0G", 6 * gib, nil},
	{Imbalance, func(b *box) { // rank 0 has another GPU, with less
		ranks(b, 30, 18, 20)
		b.snap.Rows[1].ID.Process, b.snap.Rows[1].Hints = b.p.ID.Process, b.p.Hints
	}, "", "even shares: rank 0 uses 30.0G, the other rank 20.0G", 5 * gib, map[string]func(*box){
		"the other GPU has more": func(b *box) { b.snap.Rows[1].Used = amount(31 * gib) },
		"two as large as the other rank's": func(b *box) {
			b.p.Used, b.snap.Rows[1].Used = amount(20*gib), amount(20*gib)
		},
	}},
	{Imbalance, func(b *box) { // one process on two GPUs
		ranks(b, 30, 18, 18)
		for i := range b.snap.Rows {
			b.snap.Rows[i].Hints.Rank = quantity.Optional[int]{}
			b.snap.Rows[i].ID.Process = b.p.ID.Process
		}
	}, "", "even shares: GPU 0 uses 30.0G, the other 2 GPUs 18.0G", 8 * gib, map[string]func(*box){
		"instances of one card": func(b *box) {
			for i := range b.snap.Rows {
				b.snap.Rows[i].GPU, b.snap.Rows[i].ID.GPUUUID = 0, b.gpu.UUID
				b.snap.Rows[i].ID.Instance = snapshot.InstanceID{MIG: true, GPU: uint32(i)}
			}
		},
	}},
	{Leak, func(b *box) {
		b.p.GrowthPerSecond = amount(2 * mib)
		b.snap.Alerts = []snapshot.Alert{{Kind: snapshot.AlertLeak, Row: b.p.ID, Since: now.Add(-20 * time.Minute)}}
	}, "", "a leak: what its allocator (pytorch) has allocated grows by 120M a minute, noticed at 11:40:00. Compare two maps: vramscope snapshot 100", 2400 * mib, map[string]func(*box){
		"no alarm":   func(b *box) { b.snap.Alerts = nil },
		"of another": func(b *box) { b.snap.Alerts[0].Row.Process.PID = 7 },
	}},
	{Idle, func(b *box) {
		b.p.Cached, b.p.Returnable, b.p.SMUtilization = amount(9*gib), amount(9*gib), quantity.From(0, quantity.Driver)
		b.past.series[metric.SMUtilization] = func(ago time.Duration) quantity.Bytes {
			return map[bool]quantity.Bytes{true: 80, false: 0}[ago > 42*time.Minute]
		}
	}, "", "idle for 42m with 30.0G: a flush frees 9.00G (vramscope flush 100), ending it frees all", 9 * gib, map[string]func(*box){
		"it works": func(b *box) { b.p.SMUtilization = quantity.From(3, quantity.Driver) },
		"it worked": func(b *box) {
			b.past.series[metric.SMUtilization] = func(ago time.Duration) quantity.Bytes {
				return map[bool]quantity.Bytes{true: 80, false: 0}[ago > 4*time.Minute]
			}
		},
		"little":      func(b *box) { b.p.Used = amount(gib / 2) },
		"not watched": func(b *box) { b.past.since = 3 * time.Minute },
	}},
	{Idle, func(b *box) {
		b.p.Probe, b.p.Allocators = nil, nil
		b.p.Returnable, b.p.Cached = snapshot.Bytes{}, snapshot.Bytes{}
		b.gpu.IdleSince = now.Add(-time.Hour)
	}, "", "idle for 1h with 30.0G, of which no flush frees anything: its end frees it", 30 * gib, map[string]func(*box){
		"the GPU works": func(b *box) { b.gpu.IdleSince = time.Time{} },
		"it is new":     func(b *box) { b.p.Started = now.Add(-time.Minute) },
	}},
}

// holds returns classes with their bytes.
func holds(pairs ...any) (all []snapshot.HeldClass) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, snapshot.HeldClass{Class: pairs[i].(string), Bytes: pairs[i+1].(quantity.Bytes)})
	}
	return all
}

func snapshotSteps() quantity.Optional[int64] { return quantity.Optional[int64]{} }

func fragments(b *box) {
	b.p.Fragmented, b.p.Probe.AllocRetries = amount(6*gib), count(3)
	b.p.Allocators[0].Fragmented = amount(6 * gib)
}

// replays adds replayed settings, whose figures differ from the estimate for fragments.
func replays(b *box) {
	fragments(b)
	b.Replayed = []Replay{{"", 29 * gib, false}, {"max_split_size_mb:64", 28 * gib, true}, {"expandable_segments:True", 20 * gib, false}}
}

func preallocates(b *box, kind string) {
	b.p.Used, b.p.Allocated, b.p.Cached, b.p.Returnable = amount(61*gib), amount(4*gib), amount(56*gib), amount(0)
	b.p.Allocators[0] = snapshot.Allocator{Kind: kind, Basis: "largest_free", Reserved: amount(60 * gib), Allocated: amount(4 * gib), Cached: amount(56 * gib), Returnable: amount(0), PeakAllocated: amount(5 * gib)}
}

func tall(b *box) {
	b.trains(30*gib, 74*gib)
	b.p.Used = amount(76 * gib)
}

func TestRulesFire(t *testing.T) {
	for _, s := range stories {
		b := newBox()
		if all := b.advice(); len(all) > 0 {
			t.Fatalf("the box needs advice before the story: %+v", all)
		}
		s.set(b)
		all := b.advice()
		a := of(all, s.rule)
		if a == nil {
			t.Errorf("%s does not fire: %+v", s.rule, all)
			continue
		}
		bytes, known := a.Bytes.Value()
		if !strings.Contains(a.Setting, s.setting) || s.setting == "" && a.Setting != "" || !strings.Contains(a.Text, s.text) ||
			known != (s.bytes >= 0) || known && max(bytes-s.bytes, s.bytes-bytes) > mib {
			t.Errorf("%s: %q, %q, %v; want %q, %q, %v", s.rule, a.Setting, a.Text, a.Bytes, s.setting, s.text, s.bytes)
		}
		for why, undo := range s.unless {
			b := newBox()
			s.set(b)
			undo(b)
			if a := of(b.advice(), s.rule); a != nil {
				t.Errorf("%s fires although %s: %+v", s.rule, why, a)
			}
		}
	}
}

// Memory allocated before the first steps, without an optimizer's state, is not counted as a step's
// end.
func TestStepsEndLeavesTheStartOut(t *testing.T) {
	b := newBox()
	tall(b)
	b.p.Steps = count(80)
	b.past.series[metric.Steps] = func(ago time.Duration) quantity.Bytes { return max(80-quantity.Bytes(ago/time.Second), 0) }
	steady := b.past.series[metric.Allocated]
	b.past.series[metric.Allocated] = func(ago time.Duration) quantity.Bytes {
		return map[bool]quantity.Bytes{true: 10 * gib, false: steady(ago)}[ago > 62*time.Second]
	}
	if a := of(b.advice(), Activations); a == nil || !strings.Contains(a.Text, "of the 44.0G that it takes") {
		t.Errorf("%+v", a)
	}
}

// The cases are real programs that ran out of memory: what they lacked, and whether the replay with
// expandable segments continued.
func TestFragmentedBringsWhatTheReplayDoes(t *testing.T) {
	for _, c := range []struct {
		program                 string
		free, reserved, lacking quantity.Bytes
		enough                  bool
	}{
		{"a transformer", 38, 280, 24, false}, {"the same on a larger GPU", 74, 316, 2, true}, {"a GAN", 27, 470, 20, false},
		{"the same on a larger GPU", 53, 470, 4, true}, {"a notebook", 44, 152, 20, true}, {"a Llama", 27, 318, 2, true}, {"a loader", 23, 4229, 12, false},
	} {
		a, ok := Fragmented("pytorch", "", c.free*mib, c.reserved*mib, c.lacking*mib)
		if enough := ok && a.Bytes.Or(0) >= c.lacking*mib; enough != c.enough {
			t.Errorf("%s: %+v, %t", c.program, a, ok)
		}
	}
}

func TestEveryRuleHasAStory(t *testing.T) {
	covered := map[Rule]bool{Returnable: true, LimitTooLow: true} // recording/why tests these
	for _, s := range stories {
		covered[s.rule] = true
	}
	for _, rule := range []Rule{Fragmentation, CachedLong, FlushedInVain, EmptiedInLoop, Preallocation, Optimizer, Precision, Limits,
		Activations, RoomToGrow, Contexts, Imbalance, Leak, Idle, Returnable, LimitTooLow} {
		if !covered[rule] {
			t.Errorf("%s has no story", rule)
		}
	}
}

// At most three pieces of advice are given: the best of each rule, then the others. In each group a
// leak comes first, then what saves the most.
func TestBestComesFirst(t *testing.T) {
	b := newBox()
	tall(b)
	fragments(b)
	b.p.Optimizer = "Adam"
	b.p.GrowthPerSecond = amount(mib)
	b.snap.Alerts = []snapshot.Alert{{Kind: snapshot.AlertLeak, Row: b.p.ID, Since: now}}
	var rules []Rule
	for _, a := range b.advice() {
		rules = append(rules, a.Rule)
	}
	if got, want := fmt.Sprint(rules), fmt.Sprint([]Rule{Leak, Activations, Optimizer}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	b = newBox()
	tall(b)
	if all := b.advice(); len(all) != 3 || all[0].Setting != "torch.utils.checkpoint" || all[1].Setting != "torch.autocast" {
		t.Errorf("%+v", all)
	}
}

// Texts from another user's probe are cleaned.
func TestHostileTextIsCleaned(t *testing.T) {
	for _, s := range stories {
		b := newBox()
		s.set(b)
		b.p.Optimizer = "Adam\x1b[2J\n"
		b.p.Name, b.p.User = "\x1b[2J", "\x1b"
		for i := range b.p.Allocators {
			b.p.Allocators[i].Config += "\x1b[2J"
		}
		for _, a := range b.advice() {
			if text.Clean(a.Text) != a.Text || text.Clean(a.Setting) != a.Setting {
				t.Errorf("%q %q", a.Text, a.Setting)
			}
		}
	}
}

func TestNoFiguresNoAdvice(t *testing.T) {
	b := newBox()
	tall(b)
	fragments(b)
	bare := snapshot.Process{ID: b.p.ID, Used: b.p.Used, Steps: b.p.Steps}
	*b.p = bare
	if all := b.advice(); len(all) > 0 {
		t.Errorf("%+v", all)
	}
	if all := Of(b.Input, snapshot.RowID{}); all != nil {
		t.Errorf("of no row: %+v", all)
	}
	if all := Of(Input{}, b.p.ID); all != nil {
		t.Errorf("of no snapshot: %+v", all)
	}
}

// For every drawn box, without a history, there are at most three pieces of advice, and none twice.
func TestAdviceOfDrawnBoxes(t *testing.T) {
	for name, snap := range map[string]*snapshot.Snapshot{
		"drawn": snapshottest.DrawnBox(), "day one": snapshottest.DayOne(), "no driver": snapshottest.NoDriver(), "sixteen": snapshottest.SixteenGPUs(),
	} {
		for i := range snap.Rows {
			all := Of(Input{Snapshot: snap}, snap.Rows[i].ID)
			for j, a := range all {
				if len(all) > 3 || a.Text == "" || slices.ContainsFunc(all[:j], func(b Advice) bool { return b.Text == a.Text }) {
					t.Errorf("%s: %+v", name, all)
				}
			}
		}
	}
}

// ranks makes the process rank 0 of a job whose ranks use these GiB, each on its own GPU.
func ranks(b *box, used ...quantity.Bytes) {
	for i, v := range used {
		if i > 0 {
			b.neighbour(v * gib).ID.GPUUUID = fmt.Sprintf("GPU-%d", i)
		}
		row := &b.snap.Rows[i]
		row.GPU, row.Parent, row.Used, row.Hints.Rank = i, 50, amount(v*gib), quantity.From(i, quantity.System)
	}
}

func TestReplayedSettingsHaveAPrice(t *testing.T) {
	for settings, want := range map[string][2]string{
		"":                                 {"unset PYTORCH_CUDA_ALLOC_CONF", ""},
		"expandable_segments:True":         {"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "cannot be shared"},
		"max_split_size_mb:64":             {"PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64", "never split"},
		"roundup_power2_divisions:8":       {"PYTORCH_CUDA_ALLOC_CONF=roundup_power2_divisions:8", "rounded up"},
		"garbage_collection_threshold:0.6": {"PYTORCH_CUDA_ALLOC_CONF=garbage_collection_threshold:0.6", "costs time"},
	} {
		a, ok := Replayed([]Replay{{Settings: "in force", Reserved: 65 * gib}, {Settings: settings, Reserved: 61 * gib}}, "replayed")
		if !ok || a.Setting != want[0] || !strings.Contains(a.Price, want[1]) || (a.Price == "") != (settings == "") ||
			a.Text != want[0]+": replayed, 61.0G is reserved at most in place of 65.0G" || a.Bytes.Or(0) != 4*gib {
			t.Errorf("%q: %+v", settings, a)
		}
	}
}
