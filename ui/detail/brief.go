package detail

import (
	"strconv"

	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// minHeight is the height from which the detail has a line for each part.
const minHeight = 4

// brief returns the detail for a screen of a few lines: the process with its memory, its command, its state.
func (d Panel) brief(width int) []string {
	s, p := &d.Appearance.Styles, d.process
	figure := func(name string, amount snapshot.Bytes) string {
		if v, ok := amount.Value(); ok {
			return " " + name + " " + v.String()
		}
		return ""
	}
	parts := figure("alloc", p.Allocated) + figure("cached", p.Cached) + figure("frag", p.Fragmented)
	if parts == "" {
		parts = " contents unknown"
	}
	return []string{
		d.text(width, cell.Span{s.Strong, strconv.Itoa(p.ID.Process.PID) + " " + d.Appearance.Glyphs.Bytes(p.Used)}, cell.Span{s.Text, parts}),
		d.text(width, cell.Span{s.Text, "GPU " + d.index + " " + cell.UserName(p) + " " + cell.ShortCommand(p)}),
		d.text(width, d.state()...),
	}
}
