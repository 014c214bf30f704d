package advice

import (
	"strconv"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/metric"
)

const (
	checkpointedShare = 0.6  // of the activations: checkpointing frees 60 to 70 % of them
	halved            = 0.5  // of the activations: mixed precision, or half a batch, frees about half of them
	nearFull          = 0.9  // of the capacity: a process that uses more fills its GPU
	farBelow          = 0.6  // of the capacity: a process that uses less can grow
	margin            = 0.05 // of the capacity: what a larger batch leaves free
)

// Checkpointing returns the advice for these bytes of activations. The argument what describes them.
func Checkpointing(bytes quantity.Bytes, what string) Advice {
	return checkpointing.of(quantity.Bytes(checkpointedShare*float64(bytes)), "activation checkpointing: about 60 %% of the %s", what)
}

func activations(f *facts) []Advice {
	saved := f.held("activations")
	tooth, measured := f.tooth.Value()
	what := tooth.String() + " that it takes and frees in a step"
	if !measured {
		tooth, what = saved, saved.String()+" of activations that its probe found"
	}
	if tooth < max(minSaving, f.share(.1)) || !f.full() {
		return nil
	}
	half := quantity.Bytes(halved * float64(tooth))
	all := []Advice{
		Checkpointing(tooth, what),
		mixed.of(half, "mixed precision (torch.autocast), if it trains in float32: about half of the %s", what),
		accumulation.of(half, "half the batch, and gradients accumulated over two: about half of the %s", what),
	}
	if saved >= minSaving {
		all = append(all, saveOnCPU.of(saved, "activations in host memory from the forward to the backward pass: the %s that its probe found", saved))
	}
	return all
}

// peakGap returns how much more the process reserved at its peak than now.
func (f *facts) peakGap() quantity.Bytes {
	if f.allocator == nil || f.sleeps() || !f.allocator.PeakReserved.Known() || !f.allocator.Reserved.Known() {
		return 0
	}
	return max(f.allocator.PeakReserved.Or(0)-f.allocator.Reserved.Or(0), 0)
}

// optimizer advises on the optimizer's state. At a step's end a float32 parameter takes 12 to 16
// bytes: 8 for Adam's two averages, 4 for itself and, if it is kept, 4 for the gradient.
func optimizer(f *facts) (all []Advice) {
	state, trough, name := f.held("optimizer_state"), f.trough.Or(0), f.process.Optimizer
	measured := state > 0
	if !measured {
		state = trough / 2
	}
	if state < max(minSaving, f.share(.15)) {
		return nil
	}
	if strings.Contains(name, "Adam") && !strings.Contains(name, "8bit") {
		of := "of the " + trough.String() + " at a step's end half or more is its state"
		if measured {
			of = "its state is " + state.String()
		}
		all = append(all, eightBit.of(state*3/4, "%s in place of %s: %s, unless that is in fewer bits than the parameters", eightBit.Setting, text.Clean(name), of))
	}
	if measured && f.full() {
		all = append(all, offload.of(state, "the optimizer's %s of state in host memory (FSDP's CPUOffloadPolicy, DeepSpeed's offload_optimizer)", state))
	}
	return all
}

// precision advises fewer bits for the parameters and gradients of a process that fills its GPU.
func precision(f *facts) []Advice {
	weights, gradients := f.held("parameters"), f.held("gradients")
	switch {
	case weights+gradients < max(minSaving, f.share(.3)) || !f.full():
		return nil
	case gradients+f.held("optimizer_state") > 0:
		return []Advice{bfloat16.of((weights+gradients)/2, "parameters and gradients in bfloat16, if they are in float32: half of their %s", weights+gradients)}
	}
	return []Advice{quantized.of(weights/2, "weights in 8 bits (FP8 or int8), if they are in 16: half of their %s", weights)}
}

// roomToGrow advises a process whose GPU has been far from full for an hour.
func roomToGrow(f *facts) []Advice {
	tooth, ok := f.tooth.Value()
	used := f.points(metric.Used, time.Hour, 15*time.Second)
	if !ok || tooth < minSaving || len(f.neighbours) > 0 || !f.capacity.Known() || !f.covers(used, time.Hour, 15*time.Second) {
		return nil
	}
	var peak quantity.Bytes
	for _, p := range used {
		peak = max(peak, quantity.Bytes(p.Max))
	}
	peak = max(peak, f.process.Used.Or(0)+f.peakGap())
	room := f.share(1 - margin)
	if peak > f.share(farBelow) {
		return nil
	}
	grows := float64(room-f.trough.Or(0)-max(f.process.Other.Or(0), 0)) / float64(tooth)
	if grows < 1.2 {
		return nil
	}
	return []Advice{largerBatch.of(room-peak, "the batch could grow about %s×, by a step's %s: no more than %s of %s was used in an hour. Approach it by halves",
		strconv.FormatFloat(min(grows, 64), 'f', 1, 64), tooth, peak, f.capacity.Or(0))}
}

func leaks(f *facts) []Advice {
	for i := range f.Snapshot.Alerts {
		alert := &f.Snapshot.Alerts[i]
		rate, known := f.process.GrowthPerSecond.Value()
		if alert.Row != f.process.ID || alert.Kind != "leak" || !known || rate <= 0 {
			continue
		}
		whose := "its memory"
		if n := len(f.process.Allocators); n == 1 {
			whose = "what its allocator (" + text.Clean(f.process.Allocators[0].Kind) + ") has allocated"
		}
		a := compareMaps.of(rate*quantity.Bytes(max(f.now.Sub(alert.Since), 0)/time.Second), "a leak: %s grows by %s a minute, noticed at %s",
			whose, rate*60, alert.Since.Format(time.TimeOnly))
		if steps, ok := f.steps.Value(); ok {
			a.Text += ", " + (rate * quantity.Bytes(stepTime/time.Second) / quantity.Bytes(steps)).String() + " a step"
		}
		pid := strconv.Itoa(f.process.ID.Process.PID)
		a.Text += ". Compare two maps: vramscope snapshot " + pid + " -o a.pickle, later -o b.pickle"
		return []Advice{a}
	}
	return nil
}
