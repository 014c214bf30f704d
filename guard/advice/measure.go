package advice

import (
	"fmt"
	"strings"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// Rule names a condition.
type Rule string

// The rules.
const (
	Fragmentation Rule = "fragmentation"
	CachedLong    Rule = "cached_long"
	FlushedInVain Rule = "flushed_in_vain"
	EmptiedInLoop Rule = "emptied_in_loop"
	Preallocation Rule = "preallocation"
	Optimizer     Rule = "optimizer"
	Precision     Rule = "precision"
	Limits        Rule = "limits"
	Activations   Rule = "activations"
	RoomToGrow    Rule = "room_to_grow"
	Contexts      Rule = "contexts"
	Imbalance     Rule = "imbalance"
	Leak          Rule = "leak"
	Idle          Rule = "idle"
	Returnable    Rule = "returnable" // a neighbour's memory, after an out-of-memory event
	LimitTooLow   Rule = "limit_too_low"
)

// Measure is a setting or a change.
type Measure struct {
	Rule    Rule
	Setting string // as its framework spells it; "" for a change of the program
	Price   string // "" if there is none
	Source  string // URL of the documentation; "" if it is vramscope's own
}

// Advice is a measure for a process.
type Advice struct {
	Measure
	Text  string         // what to do, and the figures that it follows from
	Bytes snapshot.Bytes // how much it would save; unknown if it saves time, or was not measured
}

// Where the settings are documented.
const (
	sourceAllocator  = "https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf"
	sourceManagement = "https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management"
	sourceFraction   = "https://docs.pytorch.org/docs/stable/generated/torch.cuda.memory.set_per_process_memory_fraction.html"
	sourceCheckpoint = "https://docs.pytorch.org/docs/stable/checkpoint.html"
	sourceAMP        = "https://docs.pytorch.org/docs/stable/amp.html"
	sourceMap        = "https://docs.pytorch.org/docs/stable/torch_cuda_memory.html"
	sourceTuning     = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"
	sourceSaveOnCPU  = "https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.graph.save_on_cpu"
	sourceOffload    = "https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html#torch.distributed.fsdp.CPUOffloadPolicy"
	sourceQuantized  = "https://docs.pytorch.org/ao/stable/"
	source8bit       = "https://huggingface.co/docs/bitsandbytes/main/en/optimizers"
	sourceJAX        = "https://docs.jax.dev/en/latest/gpu_memory_allocation.html"
	sourceTF         = "https://www.tensorflow.org/guide/gpu#limiting_gpu_memory_growth"
	sourceMPS        = "https://docs.nvidia.com/deploy/mps/latest/appendix-environment-variables.html"
	sourceLazy       = "https://docs.nvidia.com/cuda/cuda-programming-guide/04-special-topics/lazy-loading.html"
)

const allocatorVariable = "PYTORCH_CUDA_ALLOC_CONF="

// The measures. Those that need a figure are functions.
var (
	expandable = Measure{Fragmentation, allocatorVariable + "expandable_segments:True",
		"its tensors cannot be shared with other processes by CUDA IPC in every release", sourceAllocator}
	jaxGrows = Measure{Preallocation, "XLA_PYTHON_CLIENT_PREALLOCATE=false",
		"slower allocations; near the GPU's end more fragmentation", sourceJAX}
	tfGrows = Measure{Preallocation, "TF_FORCE_GPU_ALLOW_GROWTH=true", "more fragmentation", sourceTF}
	tfAsync = Measure{Preallocation, "TF_GPU_ALLOCATOR=cuda_malloc_async", "another allocator: CUDA 11.2 or newer", sourceTF}

	checkpointing = Measure{Activations, "torch.utils.checkpoint", "20 to 30 % more time a step", sourceCheckpoint}
	mixed         = Measure{Activations, "torch.autocast", "lower precision; float16 needs a gradient scaler", sourceAMP}
	accumulation  = Measure{Activations, "", "more, smaller launches a step; batch normalization sees smaller batches", sourceTuning}
	eightBit      = Measure{Optimizer, "bitsandbytes.optim.Adam8bit", "quantized state: compare the loss. FSDP divides it by the number of ranks instead", source8bit}
	offload       = Measure{Optimizer, "", "a step waits until the state has crossed the bus", sourceOffload}
	saveOnCPU     = Measure{Activations, "torch.autograd.graph.save_on_cpu", "each step moves them over the bus twice; they need host memory", sourceSaveOnCPU}
	bfloat16      = Measure{Precision, "", "rounding: compare the loss", sourceAMP}
	quantized     = Measure{Precision, "", "rounding: compare the answers", sourceQuantized}
	largerBatch   = Measure{RoomToGrow, "", "another batch size may need another learning rate", ""}

	noFlush      = Measure{FlushedInVain, "", "", sourceManagement}
	noEmptyCache = Measure{EmptiedInLoop, "", "", sourceManagement}

	lazy           = Measure{Contexts, "CUDA_MODULE_LOADING=LAZY", "a kernel's first launch takes longer", sourceLazy}
	fewerProcesses = Measure{Contexts, "", "threads, or one server for several models, in place of processes", ""}
	evenShares     = Measure{Imbalance, "", "", ""}
	compareMaps    = Measure{Leak, "", "", sourceMap}
	letGo          = Measure{Leak, "", "", ""}
	forgetError    = Measure{Leak, "sys.last_traceback = None", "the debugger cannot look at that error any more", ""}
	flushIdle      = Measure{Idle, "", "it allocates again what it needs", ""}
	endIdle        = Measure{Idle, "", "its state is lost", ""}

	flushNeighbour = Measure{Returnable, "", "it allocates again what it needs", ""}
	higherLimit    = Measure{LimitTooLow, "torch.cuda.set_per_process_memory_fraction", "the others on the device have less", sourceFraction}
)

// collection returns a measure with a limit: PyTorch collects only with a limit below 1.
func collection(limit float64) Measure {
	return Measure{CachedLong, allocatorVariable + "garbage_collection_threshold:0.8",
		fmt.Sprintf("it needs torch.cuda.set_per_process_memory_fraction(%.2f), a limit that it cannot exceed; allocations cost again", limit), sourceAllocator}
}

func fraction(limit float64) Measure {
	return Measure{Limits, fmt.Sprintf("torch.cuda.set_per_process_memory_fraction(%.2f)", limit),
		"it cannot use more, also where more is free; under MPS CUDA_MPS_PINNED_DEVICE_MEM_LIMIT does the same", sourceFraction}
}

func jaxFraction(share float64) Measure {
	return Measure{Preallocation, fmt.Sprintf("XLA_CLIENT_MEM_FRACTION=%.2f", share),
		"an error where it needs more; older releases call it XLA_PYTHON_CLIENT_MEM_FRACTION", sourceJAX}
}

func (m *Measure) of(bytes quantity.Bytes, format string, args ...any) Advice {
	return Advice{Measure: *m, Text: fmt.Sprintf(format, args...), Bytes: quantity.From(bytes, quantity.Computed)}
}

// sets reports whether a configuration (an allocator's or an environment) has one of the settings.
func sets(config string, settings ...string) bool {
	config = strings.ReplaceAll(strings.ToLower(config), " ", "")
	for _, s := range settings {
		if strings.Contains(config, strings.ToLower(s)) {
			return true
		}
	}
	return false
}

// environment joins a process's variables into one text, "" if they cannot be read.
func environment(variables []process.Variable) string {
	var b strings.Builder
	for _, v := range variables {
		b.WriteString(v.Name + "=" + v.Value + "\n")
	}
	return b.String()
}
