package dialog

import (
	"strconv"
	"strings"

	"vramscope/internal/process"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// Environment shows the variables of a process that concern its use of a GPU.
type Environment struct {
	page
	target snapshot.Process
	set    []process.Variable // not cleaned
	err    error
	read   bool // the answer is known
}

// NewEnvironment waits for the answer, which Fill adds.
func NewEnvironment(lk *cell.Appearance, p *snapshot.Process) Environment {
	return Environment{page: page{look: lk, opener: "e"}, target: *p}
}

// Process returns the process that has the environment.
func (e Environment) Process() process.Identity { return e.target.ID.Process }

// Fill returns the panel with the answer.
func (e Environment) Fill(set []process.Variable, err error) Environment {
	e.set, e.err, e.read = set, err, true
	return e
}

func (e Environment) Size(width int) int { return len(e.content(width)) + 2 }

func (e Environment) Press(name string, width, height int) (Overlay, Outcome) {
	var out Outcome
	e.page, out = e.press(name, len(e.content(width)), height-2)
	return e, out
}

func (e Environment) Render(width, height int) []string {
	return e.box("Environment of "+strconv.Itoa(e.target.ID.Process.PID), e.content(width), height).Render(width, height)
}

// maxVariable is the greatest number of lines of one variable.
const maxVariable = 8

func (e Environment) content(width int) [][]cell.Span {
	s, g := &e.look.Styles, &e.look.Glyphs
	cells := max(width-3, 1)
	lines := [][]cell.Span{
		{{s.Strong, cell.UserName(&e.target)}, {s.Text, "  " + cell.ShortCommand(&e.target)}},
		{{s.Dim, "as it was when the process started; only variables that concern the GPU"}},
		nil,
	}
	say := func(words string) {
		lines = append(lines, e.look.Paragraph(cell.Span{}, s.Text, words, cells, maxVariable)...)
	}
	switch {
	case !e.read:
		say("reading")
	case e.err != nil:
		say("cannot read it: " + text.Clean(e.err.Error()))
	case len(e.set) == 0:
		say("no variable that concerns the GPU is set")
	}
	for _, v := range e.set {
		name := text.Clean(v.Name)
		first := name + "="
		for i, l := range cell.Wrap(first+text.Clean(v.Value), cells, maxVariable, g.Ellipsis) {
			if i == 0 && strings.HasPrefix(l, first) {
				lines = append(lines, []cell.Span{{s.Key, name}, {s.Dim, "="}, {s.Text, l[len(first):]}})
				continue
			}
			lines = append(lines, []cell.Span{{s.Text, l}})
		}
	}
	return lines
}
