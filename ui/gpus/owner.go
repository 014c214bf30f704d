package gpus

import (
	"hash/fnv"
	"maps"
	"slices"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// If no probe reports what memory is used for, a bar is divided by owner.

// unowned stands for memory whose owner is not known.
const unowned = "?"

// owners are the users whose processes use the GPUs, in alphabetical order, unowned last.
type owners struct {
	names []string
	inks  map[string]cell.Span
}

// findOwners gives each owner the hue of the name's hash, which is the same on every box. If an owner earlier in the
// alphabet has this hue, the next free hue, if any, is used. Without colours the initial distinguishes owners.
func (p *Panel) findOwners() owners {
	o, taken := owners{inks: map[string]cell.Span{unowned: p.Appearance.Inks()[1]}}, map[uint32]bool{}
	hues := &p.Appearance.Styles.Owners
	held := map[string]bool{}
	p.holder(snapshot.Place{})
	for _, h := range p.Holders.at {
		for name, amount := range h.owners {
			if amount > 0 {
				held[name] = true
			}
		}
	}
	for i := range p.Snapshot.GPUs {
		held[unowned] = held[unowned] || p.Snapshot.GPUs[i].Unattributed.Or(0) >= quantity.GiB/2
	}
	unknown := held[unowned]
	delete(held, unowned)
	o.names = slices.Sorted(maps.Keys(held))
	for _, name := range o.names {
		hash := fnv.New32a()
		hash.Write([]byte(name))
		hue := hash.Sum32() % uint32(len(hues))
		for i := range uint32(len(hues)) {
			if next := (hue + i) % uint32(len(hues)); !taken[next] {
				hue = next
				break
			}
		}
		taken[hue] = true
		glyph := text.Cut(name, 1, "")
		if p.Appearance.Solid() {
			glyph = p.Appearance.Glyphs.Solid
		}
		o.inks[name] = cell.Span{Style: hues[hue], Text: glyph}
	}
	if unknown {
		o.names = append(o.names, unowned)
	}
	return o
}

// Holders has the users of each GPU and MIG instance, kept for all frames of one snapshot.
type Holders struct {
	of *snapshot.Snapshot
	at map[snapshot.Place]holder
}

type holder struct {
	process *snapshot.Process // with the most memory
	compute int               // how many processes compute
	owners  map[string]quantity.Bytes
}

// holder reads the rows once per snapshot, for all places: a large box has ten thousand rows.
func (p *Panel) holder(at snapshot.Place) holder {
	kept := p.Holders
	if kept.of == p.Snapshot {
		return kept.at[at]
	}
	*kept = Holders{p.Snapshot, make(map[snapshot.Place]holder)}
	hold := func(at snapshot.Place, row *snapshot.Process) {
		h := kept.at[at]
		if h.process == nil {
			h = holder{row, 0, make(map[string]quantity.Bytes)}
		}
		if row.Type != "G" {
			h.compute++
		}
		if row.Used.Or(0) > h.process.Used.Or(0) {
			h.process = row
		}
		h.owners[cell.UserName(row)] += row.Used.Or(0)
		kept.at[at] = h
	}
	for i := range p.Snapshot.Rows {
		row := &p.Snapshot.Rows[i]
		hold(snapshot.Place{GPUUUID: row.ID.GPUUUID}, row)
		if row.ID.Instance.MIG {
			hold(snapshot.Place{GPUUUID: row.ID.GPUUUID, Instance: row.ID.Instance}, row)
		}
	}
	return kept.at[at]
}

// content returns the contents of a bar: the parts or, if no probe has been seen, the owners; then the job that H asks
// about.
func (p *Panel) content(line Line) (cell.Parts, []cell.Piece) {
	if p.Parts {
		return cell.PartsOf(*line.parts(), line.memory().Used), p.need(line)
	}
	held, rest := p.holder(line.Place()).owners, line.memory().Used.Or(0)
	for _, amount := range held {
		rest -= amount
	}
	pieces := make([]cell.Piece, 0, len(held)+1)
	for _, name := range slices.Compact(append(slices.Clip(p.owners.names), unowned)) {
		label := name
		if !p.Appearance.Solid() {
			label = " " + name + " " // blanks set the name apart from the initials
		}
		amount := held[name]
		if name == unowned {
			amount += max(rest, 0)
		}
		pieces = append(pieces, cell.Piece{Ink: p.owners.inks[name], Amount: amount, Label: label})
	}
	return cell.Parts{}, append(pieces, p.need(line)...)
}

// OwnerLegend returns "by owner ■ alice ■ bob ■ ?".
func (p *Panel) OwnerLegend() []cell.Span {
	s := &p.Appearance.Styles
	spans, all := []cell.Span{{s.Header, "by owner"}}, p.findOwners()
	for _, name := range all.names {
		ink := all.inks[name]
		if p.Appearance.Solid() {
			ink.Text = p.Appearance.Glyphs.Swatch
		}
		spans = append(spans, cell.Span{s.Header, " "}, ink, cell.Span{s.Header, " " + name})
	}
	return spans
}

// WriteLegend names what the bars show: the parts, or the owners.
func (p *Panel) WriteLegend(l *cell.Line, cells int) {
	if p.Parts {
		WriteLegend(l, p.Appearance, cells)
		return
	}
	l.PutSpans(p.OwnerLegend(), min(l.Used()+cells, l.Width()), p.Appearance.Glyphs.Ellipsis)
}
