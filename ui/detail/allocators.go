package detail

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// kindRaw is the kind of memory that a process has allocated from the driver directly.
const kindRaw = "raw"

const maxAllocatorLines = 12

// allocators returns the figures of each allocator, in at most maxLines lines:
//
//	pytorch     69.3G reserved   peak 72.0G   small 1.20G in 400, large 68.1G in 412
//	            expandable_segments:True,max_split_size_mb:512
//	raw         8.40G in 213 allocations of its own
//	            4.00G  2h03m old  cuMemAlloc by libcublas.so.12
func (d Panel) allocators(width, maxLines int) []string {
	p := d.process
	var lines []string
	for i := range p.Allocators {
		lines = append(lines, d.allocator(width, &p.Allocators[i], len(p.Allocators) > 1)...)
	}
	return lines[:min(len(lines), maxLines)]
}

func (d Panel) inShort(width int) []string {
	s, p := &d.Appearance.Styles, d.process
	var parts []string
	var largest *snapshot.Allocation
	for i := range p.Allocators {
		a := &p.Allocators[i]
		words := text.Clean(cell.Limit(a.Kind)) + " " + d.Appearance.Glyphs.Bytes(a.Reserved)
		if n, ok := a.Blocks.Value(); ok && a.Kind == kindRaw {
			words += " in " + strconv.FormatInt(n, 10)
		}
		parts = append(parts, words)
		if len(a.Largest) > 0 {
			largest = &a.Largest[0]
		}
	}
	if len(parts) < 2 && largest == nil {
		return nil
	}
	words := strings.Join(parts, ", ")
	if largest != nil {
		words += ": the largest " + largest.Bytes.String()
		if whose := text.Clean(cell.Limit(cmp.Or(largest.Library, largest.API))); whose != "" {
			words += " by " + whose
		}
		if age, ok := largest.AgeSeconds.Value(); ok {
			words += ", " + quantity.Duration(time.Duration(age*float64(time.Second))) + " old"
		}
	}
	return []string{d.text(width, cell.Span{s.Text, words})}
}

// allocator returns the lines about one allocator; none for the only one, if the parts show all that is known about it.
func (d Panel) allocator(width int, a *snapshot.Allocator, among bool) []string {
	s := &d.Appearance.Styles
	facts := d.allocatorFacts(a)
	if len(facts) == 0 && !among && a.Config == "" && len(a.Largest) == 0 {
		return nil
	}
	line := func(name, words string) string {
		return d.text(width, cell.Span{s.Dim, text.Pad(text.Cut(name, partName-1, d.Appearance.Glyphs.Ellipsis), partName)}, cell.Span{s.Text, words})
	}
	reserved := d.Appearance.Glyphs.Bytes(a.Reserved)
	head := reserved + " reserved"
	if a.Kind == kindRaw {
		head = reserved
		if n, ok := a.Blocks.Value(); ok {
			head += " in " + text.Plural(int(n), "allocation", "allocations") + " of its own"
		}
	}
	name, lines := text.Clean(cell.Limit(a.Kind)), []string(nil)
	for _, fact := range facts {
		if text.Width(head+"   "+fact) > width-2-partName {
			lines, name, head = append(lines, line(name, head)), "", fact
			continue
		}
		head += "   " + fact
	}
	lines = append(lines, line(name, head))
	if config := text.Clean(cell.Limit(a.Config)); config != "" {
		lines = append(lines, line("", config))
	}
	const maxLargest = 5
	for i := range min(len(a.Largest), maxLargest) {
		lines = append(lines, line("", d.allocation(&a.Largest[i])))
	}
	return lines
}

func (d Panel) allocatorFacts(a *snapshot.Allocator) []string {
	var facts []string
	if v, ok := a.PeakReserved.Value(); ok && v > 0 {
		facts = append(facts, "peak "+v.String())
	}
	var pools []string
	for i := range a.Pools {
		pool := &a.Pools[i]
		v, ok := pool.Reserved.Value()
		if !ok || v <= 0 {
			continue
		}
		s := text.Clean(cell.Limit(pool.Name)) + " " + v.String()
		if v, ok := pool.Fragmented.Value(); ok && v > 0 {
			s += " (" + v.String() + " frag)"
		}
		if n, ok := pool.Segments.Value(); ok {
			s += " in " + strconv.FormatInt(n, 10)
		}
		pools = append(pools, s)
	}
	if len(pools) > 0 {
		facts = append(facts, strings.Join(pools, ", "))
	}
	return facts
}

// allocation returns "4.00G  2h03m old  cuMemAlloc by libcublas.so.12".
func (d Panel) allocation(a *snapshot.Allocation) string {
	size := a.Bytes.String()
	s := strings.Repeat(" ", max(partBytes-text.Width(size), 0)) + size
	if age, ok := a.AgeSeconds.Value(); ok {
		const ageCells = 6
		old := quantity.Duration(time.Duration(age * float64(time.Second)))
		s += "  " + strings.Repeat(" ", max(ageCells-text.Width(old), 0)) + old + " old"
	}
	if api := text.Clean(cell.Limit(a.API)); api != "" {
		s += "  " + api
	}
	if library := text.Clean(cell.Limit(a.Library)); library != "" {
		s += " by " + library
	}
	return s
}
