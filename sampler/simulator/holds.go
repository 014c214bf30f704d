package simulator

import (
	"fmt"
	"slices"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
)

// trainedClasses are the classes of a training program's tensors, in turn: a parameter, its gradient,
// and AdamW's two moments.
var trainedClasses = []string{"parameters", "gradients", "optimizer_state", "optimizer_state"}

// servedClasses are the classes of a server's tensors, in turn: an eighth is its key-value cache.
var servedClasses = append(slices.Repeat([]string{"parameters"}, 7), "variables")

// Holds returns the holders of a process's memory, for PyTorch only.
func (b *Box) Holds(id process.Identity) (found probe.Holds, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.find(id)
	if err != nil {
		return found, fmt.Errorf("simulator: holds: %w", err)
	}
	if t.cache == nil || t.role.runtime != pytorch {
		return found, &probe.Error{Code: probe.Unsupported, Message: "only PyTorch can say what holds its memory"}
	}
	held := t.holds()
	if _, serves := t.program.(*serving); serves {
		found.Notes = []string{"no step of an optimizer ended meanwhile: gradients and activations stay unnamed"}
	}
	stats := t.cache.Stats()
	device := probe.DeviceHolds{UUID: t.uuid(), AllocatedBytes: stats.Allocated}
	left := stats.Allocated
	add := func(class string, size quantity.Bytes, n quantity.Optional[int64]) {
		device.Parts, left = append(device.Parts, probe.HeldPart{Class: class, Bytes: size, Blocks: n}), left-size
	}
	for _, class := range probe.HeldClasses {
		switch n := int64(len(held[class])); {
		case class == "pending":
			add(class, stats.Pending, quantity.Unknown[int64]())
		case class == probe.Unnamed:
			add(class, left, quantity.Unknown[int64]())
		case n > 0:
			add(class, held[class].bytes(), quantity.From(n, quantity.Probe))
		}
	}
	found.TimeNS, found.Exact, found.Devices = b.epoch.Add(b.at).UnixNano(), true, []probe.DeviceHolds{device}
	return found, nil
}

// holds returns the task's tensors by class. Leaked memory is in a variable.
func (t *task) holds() map[string]batch {
	held := map[string]batch{}
	switch p := t.program.(type) {
	case *training:
		p.hold(held, trainedClasses)
		held["activations"] = p.live
	case *leaking:
		p.hold(held, trainedClasses)
		held["activations"], held["variables"] = p.live, p.leaked
	case *serving:
		p.hold(held, servedClasses)
	}
	return held
}

// heldAtError returns the holders that a probe finds when an allocation fails.
func (t *task) heldAtError() (found []probe.Holder) {
	held := t.holds()
	for _, class := range []string{"variables", "optimizer_state", "parameters"} {
		if size := held[class].bytes(); size > 0 {
			found = append(found, probe.Holder{Class: class, Name: map[string]string{"variables": "outputs in train"}[class], Bytes: size})
		}
	}
	return found
}

// hold assigns the classes to the tensors in turn.
func (w *weights) hold(held map[string]batch, classes []string) {
	for i, block := range w.blocks {
		class := classes[i%len(classes)]
		held[class] = append(held[class], block)
	}
}
