package fleet

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// lineWith returns the line of a GPU with that percentage of its memory used, unknown if negative.
func lineWith(box string, percent float64) Line {
	g := snapshot.GPU{UUID: "GPU-" + box, State: snapshot.GPUOK}
	g.Memory.Total = quantity.From(100*quantity.GiB, quantity.Driver)
	if percent >= 0 {
		g.Memory.Used = quantity.From(quantity.Bytes(percent*float64(quantity.GiB)), quantity.Driver)
	}
	return Line{Box: box, GPU: g, GPUs: 1}
}

func names(lines []Line) string {
	var all []string
	for i := range lines {
		all = append(all, lines[i].Name())
	}
	return strings.Join(all, " ")
}

func TestWorstFirst(t *testing.T) {
	down, lost, full, leak, unknown := lineWith("down", -1), lineWith("lost", -1), lineWith("full", 90), lineWith("leak", 30), lineWith("unknown", -1)
	down.State, lost.GPU.State = Down, snapshot.GPULost
	full.Alert, full.Severity = snapshot.AlertFullIn, snapshot.Urgent
	full.GPU.FullIn = &snapshot.FullIn{Median: time.Minute}
	later := full // idle memory does not move it before full
	later.Box, later.Idle, later.GPU.FullIn = "later", quantity.From(1, quantity.Computed), &snapshot.FullIn{Median: time.Hour}
	leak.Alert = snapshot.AlertLeak
	oom, idle, idler := lineWith("oom", 5), lineWith("idle", 60), lineWith("idler", 20)
	oom.Alert = snapshot.AlertOutOfMemory
	idle.Idle, idler.Idle = quantity.From(1, quantity.Computed), quantity.From(2, quantity.Computed)
	low := lineWith("low", 99) // a full GPU alone is no problem
	low.Alert, low.Severity = snapshot.AlertLowMemory, snapshot.Urgent
	lines := []Line{lineWith("calm", 10), unknown, low, leak, lost, idle, lineWith("busy", 98), later, down, full, idler, oom}
	Order(lines, ByWorst)
	if got := names(lines); got != "oom full later down lost idler idle leak low busy calm unknown" {
		t.Errorf("order: %s", got)
	}
	Order(lines, ByFree)
	if got := names(lines); !strings.HasPrefix(got, "busy calm") { // free memory is unknown, so the order is by name
		t.Errorf("by free: %s", got)
	}
}

// TestLinesDoNotJump: a small change of a figure moves no line; a large one does.
func TestLinesDoNotJump(t *testing.T) {
	var o order
	lines := []Line{lineWith("a", 50), lineWith("b", 51), lineWith("c", 52)}
	o.sort(lines, ByWorst)
	before := names(lines)
	for i := range 20 {
		for j := range lines {
			lines[j] = lineWith(lines[j].Box, 50+float64((i*7+j*3)%4))
		}
		if o.sort(lines, ByWorst); names(lines) != before {
			t.Fatalf("%s became %s", before, names(lines))
		}
	}
	for i := range lines {
		if lines[i].Box == "a" {
			lines[i] = lineWith("a", 70)
		}
	}
	if o.sort(lines, ByWorst); lines[0].Box != "a" {
		t.Errorf("a rose by 20 points and stays behind: %s", names(lines))
	}
}

// TestABoxSumsTheGPUsThatAnswer: the memory of a lost GPU is neither used nor free.
func TestABoxSumsTheGPUsThatAnswer(t *testing.T) {
	gpu := func(used snapshot.Bytes) Line {
		return Line{GPU: snapshot.GPU{Memory: snapshot.Memory{Used: used, Total: quantity.From(80*quantity.GiB, quantity.Driver)}}}
	}
	box := boxLine(Line{}, []Line{gpu(quantity.From(30*quantity.GiB, quantity.Driver)), gpu(snapshot.Bytes{})})
	if m := box.GPU.Memory; box.GPUs != 2 || m.Used.Or(0) != 30*quantity.GiB || m.Total.Or(0) != 80*quantity.GiB {
		t.Errorf("%d GPUs, %v used of %v", box.GPUs, m.Used, m.Total)
	}
}
