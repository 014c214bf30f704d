package detail

import (
	"strconv"

	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// detailLeast is the height from which the detail has a line for each part.
const detailLeast = 4

// brief is the detail in as few lines as there are: what it uses, of what, and who.
func (d Panel) brief(width int) []string {
	s, p := &d.look.Styles, d.process
	figure := func(name string, amount snapshot.Bytes) string {
		if v, ok := amount.Value(); ok {
			return " " + name + " " + v.String()
		}
		return ""
	}
	used := d.look.Glyphs.Dash
	if v, ok := p.Used.Value(); ok {
		used = v.String()
	}
	of := figure("alloc", p.Allocated) + figure("cache", p.Cached) + figure("frag", p.Fragmented)
	if of == "" {
		of = " contents unknown"
	}
	return []string{
		d.text(width, cell.Span{s.Strong, strconv.Itoa(p.ID.Process.PID) + " " + used}, cell.Span{s.Text, of}),
		d.text(width, cell.Span{s.Text, "GPU " + d.index + " " + cell.UserName(p) + " " + cell.ShortCommand(p)}),
		d.text(width, d.state()...),
	}
}
