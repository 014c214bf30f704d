package dialog

import (
	"slices"
	"strconv"
	"strings"

	"vramscope/internal/process"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// Environment is what of a process's environment matters to its use of a
// GPU: CUDA_VISIBLE_DEVICES, PYTORCH_CUDA_ALLOC_CONF and friends.
type Environment struct {
	page
	target snapshot.Process
	lines  []string // NAME=value, as hostile as all that comes from a process
	err    error
	read   bool // the answer is there
}

// NewEnvironment waits for the answer; filled brings it.
func NewEnvironment(lk *cell.Appearance, p *snapshot.Process) Environment {
	return Environment{page: page{look: lk, opener: "e"}, target: *p}
}

// Process is whose environment it is.
func (e Environment) Process() process.Identity { return e.target.ID.Process }

// Fill is the panel with the answer.
func (e Environment) Fill(lines []string, err error) Environment {
	e.lines, e.err, e.read = slices.Clone(lines), err, true
	return e
}

// Follow implements Overlay: an environment is read once.
func (e Environment) Follow(*Scene) Overlay { return e }

// Size implements Overlay.
func (e Environment) Size(width int) (extent, int) {
	return OverTable, len(e.content(width)) + 2
}

// Press implements Overlay.
func (e Environment) Press(name string, width, height int) (Overlay, Outcome) {
	out := Ignored
	e.page, out = e.press(name, len(e.content(width)), height-2)
	return e, out
}

// Render implements Overlay.
func (e Environment) Render(width, height int) []string {
	return e.box("Environment of "+strconv.Itoa(e.target.ID.Process.PID), e.content(width), height).Render(width, height)
}

// maxVariable is how many lines one variable gets.
const maxVariable = 8

// content is what stands in the frame.
func (e Environment) content(width int) [][]cell.Span {
	s, g := &e.look.Styles, &e.look.Glyphs
	cells := max(width-3, 1)
	lines := [][]cell.Span{
		{{s.Strong, cell.UserName(&e.target)}, {s.Text, "  " + cell.ShortCommand(&e.target)}},
		{{s.Dim, "as it was when the process started; only what concerns the GPU"}},
		nil,
	}
	say := func(words string) {
		for _, l := range cell.Wrap(words, cells, maxVariable, g.Ellipsis) {
			lines = append(lines, []cell.Span{{s.Text, l}})
		}
	}
	switch {
	case !e.read:
		say("reading it")
	case e.err != nil:
		say("not to be had: " + text.Clean(e.err.Error()))
	case len(e.lines) == 0:
		say("none of the variables that concern the GPU is set")
	}
	for _, variable := range e.lines {
		name, value, _ := strings.Cut(text.Clean(variable), "=")
		first := name + "="
		for i, l := range cell.Wrap(first+value, cells, maxVariable, g.Ellipsis) {
			if i == 0 && strings.HasPrefix(l, first) {
				lines = append(lines, []cell.Span{{s.Key, name}, {s.Dim, "="}, {s.Text, l[len(first):]}})
				continue
			}
			lines = append(lines, []cell.Span{{s.Text, l}})
		}
	}
	return lines
}
