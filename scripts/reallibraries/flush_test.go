//go:build linux && cgo

package reallibraries

import (
	"fmt"
	"path/filepath"
	"strconv"
)

var levels = []string{"gradual", "selective", "urgent"}

// flush flushes at each level, with something to free each time. The bytes that are predicted and
// reported must equal the decrease of the memory that the program reserves, and the increase of the
// driver's free memory.
func (p *program) flush(into *cell, devices []int) {
	p.t.Helper()
	for i, level := range levels {
		if i > 0 {
			for _, device := range devices {
				p.must("spare", map[string]any{"device": device}, new(any))
				p.settle(into, device, isDriver, isStats)
				p.seen(device)
			}
		}
		into.note(p.t, isFlush+level, p.flushAt(level, devices)...)
	}
	for _, device := range devices {
		p.settle(into, device)
	}
}

// seen waits until the shown cached memory equals that of the program's blocks. Other figures may
// be older, but a flush does not need them.
func (p *program) seen(device int) {
	p.t.Helper()
	eventually(func() bool {
		cached, own := p.row(device).Cached, p.figures(device)
		return own.Blocks == nil || cached != nil && *cached == own.Blocks["cached_bytes"]
	})
}

func (p *program) flushAt(level string, devices []int) (wrong []string) {
	p.t.Helper()
	var reserved, free, predicted int64
	known := true
	for _, device := range devices {
		own, shown := p.figures(device), p.row(device)
		reserved, free = reserved+own.Stats["reserved_bytes"], free+own.Free
		if shown.Returnable == nil || shown.Fragmented == nil { // cudaMallocAsync, before its first flush
			known = false
		} else {
			predicted += *shown.Returnable
		}
	}
	var document struct {
		Flush struct {
			Freed   int64 `json:"freed_bytes"`
			Outcome string
			Reason  string
			Notes   []string
		}
	}
	p.ask(&document, "flush", strconv.Itoa(p.pid), "--yes", "--level", level, "--format", "json")
	freed := document.Flush.Freed
	for _, device := range devices {
		own := p.figures(device)
		reserved, free = reserved-own.Stats["reserved_bytes"], free-own.Free
	}
	wrong = differ(wrong, "freed, by the allocator", &reserved, freed)
	free = -free
	wrong = differ(wrong, "freed, by the driver", &free, freed)
	if known && freed != predicted {
		wrong = append(wrong, fmt.Sprintf("freed %d, predicted %d", freed, predicted))
	}
	if freed == 0 {
		wrong = append(wrong, "nothing was freed")
	}
	if outcome := document.Flush.Outcome; outcome != "flushed" {
		wrong = append(wrong, fmt.Sprintf("the outcome is %s: %s %q", outcome, document.Flush.Reason, document.Flush.Notes))
	}
	return wrong
}

// snapshot takes PyTorch's snapshot and, unless history is recorded, a map.
func (p *program) snapshot(into *cell, devices []int, history bool) {
	p.t.Helper()
	pid, directory := strconv.Itoa(p.pid), p.t.TempDir()
	pickle, drawn := filepath.Join(directory, "pickle"), filepath.Join(directory, "map")
	_, err := p.vramscope("snapshot", pid, "-o", pickle)
	var events int
	if err == nil {
		err = p.step("look", map[string]any{"path": pickle}, &events)
	}
	if err == nil && history != (events > 0) {
		err = fmt.Errorf("%d events", events)
	}
	into.note(p.t, isSnapshot, messages(err)...)
	if history {
		return // a map is refused while history is recorded
	}
	into.note(p.t, isMap, messages(p.checkMap(drawn, devices))...)
}

func (p *program) checkMap(path string, devices []int) error {
	if _, err := p.vramscope("snapshot", strconv.Itoa(p.pid), "--format", "segments", "-o", path); err != nil {
		return err
	}
	var cached []int64
	if err := p.step("map", map[string]any{"path": path}, &cached); err != nil {
		return err
	}
	for _, device := range devices {
		shown := p.row(device)
		pending := number(shown.allocator("pytorch"), "pending_bytes") // a flush may free a part of it with its segment
		if shown.Returnable == nil || pending == nil || *shown.Returnable < cached[device] || *shown.Returnable > cached[device]+*pending {
			return fmt.Errorf("the map has %d cached: %s", cached[device], shown)
		}
	}
	return nil
}

func messages(err error) []string {
	if err == nil {
		return nil
	}
	return []string{err.Error()}
}
