package simulator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
)

// trainedClasses are the classes of a training program's tensors, in turn: for a parameter
// there are a gradient and AdamW's two moments.
var trainedClasses = []probe.HeldBy{"parameters", "gradients", "optimizer_state", "optimizer_state"}

// servedClasses are those of a server, an eighth of which is its key-value cache.
var servedClasses = append(slices.Repeat([]probe.HeldBy{"parameters"}, 7), "variables")

// Holds is what holds a process's memory as its probe reports it, for PyTorch only, and how long a
// probe would wait for the end of a step.
func (b *Box) Holds(id process.Identity) (found probe.Holds, wait time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.find(id)
	if err != nil {
		return found, 0, fmt.Errorf("simulator: holds: %w", err)
	}
	if t.cache == nil || t.role.runtime != pytorch {
		return found, 0, &probe.Error{Code: probe.Unsupported, Message: "only PyTorch can say what holds its memory"}
	}
	held, wait := t.holds()
	if wait == 0 {
		found.Notes = []string{"no step of an optimizer ended meanwhile: gradients and activations stay unnamed"}
	}
	stats := t.cache.Stats()
	device := probe.DeviceHolds{UUID: t.uuid(), AllocatedBytes: stats.Allocated}
	left := stats.Allocated
	add := func(class probe.HeldBy, size quantity.Bytes, n *int64) {
		device.Parts, left = append(device.Parts, probe.HeldPart{Class: class, Bytes: size, Blocks: n}), left-size
	}
	for _, class := range probe.HeldClasses {
		switch n := int64(len(held[class])); {
		case class == "pending":
			add(class, stats.Pending, nil)
		case class == probe.Unnamed:
			add(class, left, nil)
		case n > 0:
			var size quantity.Bytes
			for _, block := range held[class] {
				size += block.Size()
			}
			add(class, size, &n)
		}
	}
	found.TimeNS, found.Exact, found.Devices = b.epoch.Add(b.at).UnixNano(), true, []probe.DeviceHolds{device}
	return found, wait, nil
}

// holds are the task's tensors by class, and how long its steps take. What it leaks is in a variable.
func (t *task) holds() (held map[probe.HeldBy]batch, aStep time.Duration) {
	held = map[probe.HeldBy]batch{}
	switch p := t.program.(type) {
	case *training:
		p.hold(held, trainedClasses)
		held["activations"], aStep = p.live, time.Duration(p.every)*step
	case *leaking:
		p.hold(held, trainedClasses)
		held["activations"], held["variables"], aStep = p.live, p.leaked, time.Second
	case *serving:
		p.hold(held, servedClasses)
	}
	return held, aStep
}

// heldAtError are the parts that a probe finds as an allocation fails.
func (t *task) heldAtError() (found []probe.Holder) {
	held, _ := t.holds()
	for _, class := range []probe.HeldBy{"variables", "optimizer_state", "parameters"} {
		one := probe.Holder{Class: class}
		if class == "variables" {
			one.Name = "outputs in train"
		}
		for _, block := range held[class] {
			one.Bytes += block.Size()
		}
		if one.Bytes > 0 {
			found = append(found, one)
		}
	}
	slices.SortFunc(found, func(a, b probe.Holder) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return found
}

// hold sorts the tensors into classes, in turn.
func (w *weights) hold(held map[probe.HeldBy]batch, classes []probe.HeldBy) {
	for i, block := range w.blocks {
		class := classes[i%len(classes)]
		held[class] = append(held[class], block)
	}
}
