package dialog

import (
	"slices"
	"strings"

	"vramscope/internal/text"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

func (h Help) head(words string) cell.Span {
	return cell.Span{h.look.Styles.Header, text.Pad(words, 6)}
}

func (h Help) words(words string) cell.Span { return cell.Span{h.look.Styles.Text, words} }

func (h Help) parts() [][]cell.Span {
	head, words := h.head, h.words
	cached := ": F frees it"
	if !h.look.Keys.Has(keys.Flush) {
		cached = ": unused"
	}
	part := h.look.Swatches()
	return [][]cell.Span{
		{head("BAR"), part[0], words(" other: CUDA, libraries   "), part[1],
			words(" unknown: no probe   "), part[2], words(" alloc: live blocks")},
		{head(""), part[3], words(" frag: fragmented, or cached by JAX   "), part[4],
			words(" cached" + cached + "   "), part[5], words(" free")},
	}
}

func (h Help) signs() [][]cell.Span {
	s, g, head, words := &h.look.Styles, &h.look.Glyphs, h.head, h.words
	return [][]cell.Span{
		{head("ROW"), {s.Leak, g.Leak}, words(" leak   " + g.Up + " growing   " + g.Down + " shrinking   " + g.Sawtooth +
			" up and down   (33G) not returnable")},
		{head(""), {s.Dim, g.Dash}, words(" not known   5:1 GPU 5, MIG instance 1   ? owner not known")},
		{words("G is GiB.  +60s: median forecast.  full in: median (earliest" + g.EnDash + "latest, 80 %)")},
	}
}

// meanings returns the third page, in as many columns as fit.
func (h Help) meanings(width int) [][]cell.Span {
	const oneColumn, twoColumns = 117, 197 // without the frame
	n := 1
	switch {
	case width >= twoColumns:
		n = 3
	case width >= oneColumn:
		n = 2
	}
	cells := width / n
	var lines [][]cell.Span
	for _, section := range slices.Concat(h.columns, h.marks()) {
		if len(lines) > 0 {
			lines = append(lines, nil)
		}
		lines = append(lines, []cell.Span{{h.look.Styles.Header, section.Title}})
		for _, item := range section.Items {
			lines = append(lines, h.meaning(item, cells)...)
		}
	}
	return sideBySide(lines, n, cells)
}

// meaning returns an item in one line, or in more where a narrow screen needs them.
func (h Help) meaning(item Item, cells int) [][]cell.Span {
	const indent, minText = 2, 20
	names := nameCells + 2
	if cells < names+indent+minText {
		names = text.Width(item.Name) + 1
	}
	label := cell.Span{h.look.Styles.Key, "  " + text.Pad(item.Name, names)}
	return h.look.Paragraph(label, h.look.Styles.Text, h.look.Glyphs.Words(item.Help), cells-1, 4)
}

// sideBySide breaks lines into n columns, each of the same number of cells.
func sideBySide(lines [][]cell.Span, n, cells int) [][]cell.Span {
	rows := (len(lines) + n - 1) / n
	if n == 1 {
		return lines
	}
	out := make([][]cell.Span, rows)
	for i, line := range lines {
		column, row := i/rows, i%rows
		if missing := column*cells - cell.SpansWidth(out[row]); missing > 0 {
			out[row] = append(out[row], cell.Span{Text: strings.Repeat(" ", missing)})
		}
		out[row] = append(out[row], line...)
	}
	return out
}

// marks explain the bars, the marks of rows, and how figures are written.
func (h Help) marks() []Section {
	g := &h.look.Glyphs
	part := h.look.Swatches()
	sorts := g.SortDown + " " + g.SortUp
	return []Section{
		{"BARS", []Item{
			{part[0].Text, "other: CUDA context, kernels, libraries"},
			{part[1].Text, "unknown: of a process without a probe"},
			{part[2].Text, "alloc: allocated, in live blocks"},
			{part[3].Text, "frag: fragmented, or cached by JAX"},
			{part[4].Text, "cached: a flush frees it"},
			{part[5].Text, "free"},
		}},
		{"ROWS", []Item{
			{">", "the cursor"}, {"*", "a tagged process (Space)"}, {"!", "an alert; ! shows the next one"}, {sorts, "sorted by this column, and how"},
			{g.Leak, "leak: its least use keeps rising"}, {g.Up + " " + g.Down, "growing, shrinking"}, {g.Sawtooth, "up and down"},
			{".", "too young to say"}, {g.Dash, "not known; never 0"}, {"(33G)", "cached, and no flush frees it"},
			{"5:1", "MIG instance 1 of GPU 5"}, {"?", "its owner is not known"},
			{"no probe", "its parts are unknown; a attaches a probe"},
			{"stale 3s", "the age of its probe's figures"}, {"silent", "its probe does not answer"},
			{"rejected", "its probe's figures exceed the driver's"}, {"ended", "it has exited; these are its last figures"},
		}},
		{"FIGURES", []Item{
			{"20G, 20GiB", "20 x 1024^3 bytes; G is that everywhere"},
			{"20GB", "20 x 1000^3 bytes: --need 20GB is 18.6G"},
			{"full in", "median (earliest" + g.EnDash + "latest, 80 %)"},
			{"full", "a forecast at or over the GPU's capacity"},
			{"LIVE", "of now; LATE 5s: the newest are that old"},
			{"PAST", "a moment of the history"}, {"FROZEN", "the screen stands still; sampling goes on"},
		}},
	}
}
