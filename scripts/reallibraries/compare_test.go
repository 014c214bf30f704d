//go:build linux && cgo

package reallibraries

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// figures are a library's own figures and the driver's for a device: bytes and counts,
// by the names that they have in a probe's report.
type figures struct {
	Free   int64 // by the driver
	Beside int64 // bytes that the program has from the driver itself, not from the library
	Errors int64 // out-of-memory errors that the program has seen
	// Child processes that use GPU 0: pid, allocated and reserved bytes.
	Workers [][3]int64
	Stats   map[string]int64 // the allocator's
	Blocks  map[string]int64 // sums over its blocks
}

// row is a process on a GPU in the output of vramscope once.
type row struct {
	PID        int
	Used       *int64 `json:"used_bytes"`
	Allocated  *int64 `json:"allocated_bytes"`
	Cached     *int64 `json:"cached_bytes"`
	Fragmented *int64 `json:"fragmented_bytes"`
	Other      *int64 `json:"other_bytes"`
	Returnable *int64 `json:"returnable_bytes"`
	Bound      string `json:"returnable_bound"`
	Allocators []map[string]any
	Runtime    string
	GPU        int `json:"-"`
}

// The identities that must hold.
const (
	isDriver   = "driver"   // used equals the driver's figure, and other has no memory of an allocator
	isStats    = "stats"    // the report equals the allocator's statistics
	isBlocks   = "blocks"   // the report equals the sums over the allocator's blocks
	isWorkers  = "workers"  // the reports of child processes equal their allocators' statistics
	isErrors   = "errors"   // each out-of-memory error is counted once
	isSnapshot = "snapshot" // the snapshot equals the allocator's own, and PyTorch's visualiser shows it
	isMap      = "map"      // the map equals the allocator's blocks; returnable is the map's cached memory and a part of the pending memory
	isFlush    = "flush "   // with a level: the flush frees what was predicted, by the allocator's figures and by the driver's
)

func (p *program) figures(device int) (own figures) {
	p.t.Helper()
	p.must("figures", map[string]any{"device": device}, &own)
	return own
}

// rows returns all rows of vramscope once.
func (p *program) rows() []row {
	p.t.Helper()
	var document struct {
		GPUs []struct{ Processes []row }
	}
	p.ask(&document, "once", "--format", "json")
	var rows []row
	for index, gpu := range document.GPUs {
		for _, r := range gpu.Processes {
			r.GPU = index
			rows = append(rows, r)
		}
	}
	return rows
}

func (p *program) ask(into any, arguments ...string) {
	p.t.Helper()
	out, err := p.vramscope(arguments...)
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// row returns the program's own row on a device. It waits for a report, because on a busy machine a
// probe may answer too late.
func (p *program) row(device int) (shown row) {
	p.t.Helper()
	eventually(func() bool {
		shown = of(p.rows(), p.pid, device)
		return shown.Allocated != nil
	})
	return shown
}

// of returns the row of a process on a device, empty if it is not there.
func of(rows []row, pid, device int) row {
	for _, r := range rows {
		if r.PID == pid && r.GPU == device {
			return r
		}
	}
	return row{}
}

// settle waits until a device's row agrees with the program's figures in these identities, or in
// all if none is given. A report may be a second old, and the figures from a busy program's snapshot
// half a minute.
func (p *program) settle(into *cell, device int, identities ...string) {
	p.t.Helper()
	var own figures
	var rows []row
	var found map[string][]string
	eventually(func() bool {
		own, rows = p.figures(device), p.rows()
		found = p.compare(device, own, rows)
		maps.DeleteFunc(found, func(identity string, _ []string) bool {
			return into.differs[identity] != "" || identities != nil && !slices.Contains(identities, identity)
		})
		return len(slices.Concat(slices.Collect(maps.Values(found))...)) == 0
	})
	for identity, differences := range found {
		into.note(p.t, identity, differences...)
		if len(differences) > 0 {
			p.t.Logf("GPU %d\nthe library: %+v\nvramscope: %s", device, own, rows)
		}
	}
}

// compare returns the differences by identity. It leaves out identities that cannot be checked here.
func (p *program) compare(device int, own figures, rows []row) map[string][]string {
	shown := of(rows, p.pid, device)
	found := map[string][]string{isDriver: p.compareDriver(device, own, shown, rows)}
	if own.Workers != nil && device == 0 && p.job.how != byAttach {
		found[isWorkers] = compareWorkers(own.Workers, rows)
	}
	if counted := errorsOf(shown); counted != nil || own.Errors > 0 {
		found[isErrors] = differ(nil, "out of memory", counted, own.Errors)
	}
	for identity, wanted := range map[string]map[string]int64{isStats: own.Stats, isBlocks: own.Blocks} {
		if wanted != nil {
			found[identity] = compareReport(shown.allocator("pytorch", "cuda_pool"), wanted)
			if strings.HasPrefix(shown.Runtime, "CUDA") { // Python's probe has not taken over yet
				found[identity] = append(found[identity], "the native library answers")
			}
		}
	}
	return found
}

// compareDriver compares used with the driver's figure. The part that no allocator has must be the
// context and, without the native probe, what the program allocates outside its allocators.
func (p *program) compareDriver(device int, own figures, shown row, rows []row) []string {
	var used int64
	for _, r := range rows {
		if r.GPU == device && r.Used != nil {
			used += *r.Used
		}
	}
	wrong := differ(nil, "used by all processes", &used, p.capacity[device]-own.Free)
	switch {
	case p.job.how == withShim:
		raw := number(shown.allocator("raw"), "allocated_bytes")
		if raw != nil || own.Beside > 0 {
			wrong = differ(wrong, "raw", raw, own.Beside)
		}
		return differ(wrong, "other", shown.Other, contextBytes)
	case own.Stats == nil:
		if shown.Other != nil || shown.Allocated != nil {
			wrong = append(wrong, "it knows what no allocator reports")
		}
		return wrong
	}
	return differ(wrong, "other", shown.Other, contextBytes+own.Beside)
}

func compareWorkers(workers [][3]int64, rows []row) (wrong []string) {
	for _, worker := range workers {
		shown := of(rows, int(worker[0]), 0)
		wrong = differ(wrong, "allocated by a worker", shown.Allocated, worker[1])
		wrong = differ(wrong, "reserved by a worker", number(shown.allocator("pytorch"), "reserved_bytes"), worker[2])
		wrong = differ(wrong, "other of a worker", shown.Other, contextBytes)
	}
	return wrong
}

// compareReport compares the wanted figures with those of the same names in an allocator's report.
func compareReport(reported map[string]any, wanted map[string]int64) (wrong []string) {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		wrong = differ(wrong, name, number(reported, name), wanted[name])
	}
	return wrong
}

// allocator returns the report of the row's allocator of one of these kinds.
func (r row) allocator(kinds ...string) map[string]any {
	for _, a := range r.Allocators {
		if kind, ok := a["kind"].(string); ok && slices.Contains(kinds, kind) {
			return a
		}
	}
	return nil
}

// number returns a report's figure, nil if it has none.
func number(report map[string]any, name string) *int64 {
	value, ok := report[name].(float64)
	if !ok {
		return nil
	}
	whole := int64(value)
	return &whole
}

func differ(wrong []string, what string, got *int64, want int64) []string {
	switch {
	case got == nil:
		return append(wrong, fmt.Sprintf("%s is unknown, want %d", what, want))
	case *got != want:
		return append(wrong, fmt.Sprintf("%s: %d, want %d", what, *got, want))
	}
	return wrong
}

func (r row) String() string {
	text, _ := json.Marshal(r) // it came from JSON
	return string(text)
}
