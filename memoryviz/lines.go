package memoryviz

import (
	"cmp"

	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/schema"
)

// Document is what `vramscope snapshot --record --format json` writes.
type Document struct {
	Schema string      `json:"schema"`
	Time   schema.Time `json:"time"` // of the snapshot
	Host   string      `json:"host"`
	Lines  struct {
		PID       int            `json:"pid"`
		Runtime   schema.Text    `json:"runtime"`
		Seconds   float64        `json:"recorded_seconds"`
		Steps     int64          `json:"recorded_steps"`
		History   float64        `json:"history_seconds"` // from the oldest entry of the history to the newest
		Allocated quantity.Bytes `json:"allocated_bytes"`
		Notes     []schema.Text  `json:"notes"`
		Lines     []Line         `json:"lines"`
	} `json:"lines"`
}

// Line is one line of the program: its live memory, and its allocations in the history, freed or not.
type Line struct {
	At          Frame          `json:"at"`
	Bytes       quantity.Bytes `json:"bytes"`
	Blocks      int64          `json:"blocks"`
	Churn       quantity.Bytes `json:"churn_bytes"`
	Allocations int64          `json:"allocations"`
}

// GrowthDocument is what `vramscope snapshot diff --format json` writes.
type GrowthDocument struct {
	Schema string         `json:"schema"`
	Before schema.Text    `json:"before"` // the files
	After  schema.Text    `json:"after"`
	Grown  quantity.Bytes `json:"grown_bytes"` // the change of all memory; negative if it shrank
	Lines  []Grown        `json:"lines"`
}

// Grown is memory that grew between two snapshots: the blocks of a line or, without recorded lines,
// the blocks of one size.
type Grown struct {
	At     Frame                             `json:"at"`
	Each   quantity.Optional[quantity.Bytes] `json:"block_bytes"` // the size of a block without a line
	Before quantity.Bytes                    `json:"before_bytes"`
	After  quantity.Bytes                    `json:"after_bytes"`
	Grown  quantity.Bytes                    `json:"grown_bytes"`
	Blocks int64                             `json:"grown_blocks"`
}

// Lines returns all lines, those with the most live memory first. An allocation without a recorded
// line has a Frame without a file, whose Function says why.
func (s *Snapshot) Lines() []Line {
	found := map[Frame]Line{}
	for _, b := range s.Blocks {
		l := found[b.Stack.own]
		l.Bytes, l.Blocks = l.Bytes+b.Size, l.Blocks+1
		found[b.Stack.own] = l
	}
	for _, b := range s.Allocated {
		l := found[b.Stack.own]
		l.Churn, l.Allocations = l.Churn+b.Size, l.Allocations+1
		found[b.Stack.own] = l
	}
	lines := []Line{}
	for at, l := range found {
		l.At = at
		lines = append(lines, l)
	}
	sorted.Stable(lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Churn, a.Churn), cmp.Compare(a.At.String(), b.At.String()))
	})
	return lines
}

// Growth returns the memory that grew between two snapshots: lines first, then memory without a line,
// each with the most growth first. all is the change of all memory, negative if it shrank.
func Growth(before, after *Snapshot) (_ []Grown, all quantity.Bytes) {
	found, lines := map[Grown]Grown{}, []Grown{}
	for sign, s := range map[quantity.Bytes]*Snapshot{-1: before, 1: after} {
		for _, b := range s.Blocks {
			key := Grown{At: b.Stack.own}
			if key.At.File == "" {
				key.Each = quantity.From(b.Size, quantity.Probe)
			}
			g := found[key]
			g.Before, g.After = g.Before+b.Size*(1-sign)/2, g.After+b.Size*(1+sign)/2
			g.Grown, g.Blocks, all = g.Grown+b.Size*sign, g.Blocks+int64(sign), all+b.Size*sign
			found[key] = g
		}
	}
	for key, g := range found {
		if g.At, g.Each = key.At, key.Each; g.Grown > 0 {
			lines = append(lines, g)
		}
	}
	sorted.Stable(lines, func(a, b Grown) int {
		without := func(g Grown) quantity.Bytes { return min(g.Each.Or(0), 1) }
		return cmp.Or(cmp.Compare(without(a), without(b)), cmp.Compare(b.Grown, a.Grown), cmp.Compare(a.At.String(), b.At.String()), cmp.Compare(a.Each.Or(0), b.Each.Or(0)))
	})
	return lines, all
}
