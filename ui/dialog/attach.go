package dialog

import (
	"strconv"
	"strings"

	"vramscope/action/attach"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// Attach asks before a probe is attached to a running process. It opens while the process is examined, and then says how
// the probe would be attached, or every reason against it.
type Attach struct {
	subject
	home   string // the home directory of the viewer
	log    string // the directory of the audit log
	looked bool   // the plan is known
	plan   attach.Plan
}

// NewAttach asks about the process of a row. Fill adds the plan.
func NewAttach(lk *cell.Appearance, now *Screen, id snapshot.RowID, home, log string) Attach {
	return Attach{subject: newSubject(lk, now, id), home: home, log: log}
}

// Fill returns the question with the plan.
func (d Attach) Fill(plan attach.Plan) Attach {
	d.plan, d.looked = plan, true
	return d
}

func (d Attach) Follow(now *Screen) Overlay {
	d.subject = d.following(now)
	return d
}

func (d Attach) Size(width int) int { return d.form(width).height() }

func (d Attach) Render(width, height int) []string {
	return d.form(width).Render(width, height)
}

func (d Attach) Hints() []keys.Hint { return d.form(dialogWidth).hints() }

func (d Attach) Press(name string, _, height int) (Overlay, Outcome) {
	switch {
	case refuses(name):
		return d, Closed
	case name == "y" && d.looked && len(d.refusals()) == 0 && height >= MinLines:
		return d, Confirmed
	default:
		return d, Handled
	}
}

func (d Attach) refusals() []string {
	var reasons []string
	switch {
	case d.ended():
		reasons = append(reasons, "it has ended")
	case d.target.Probe != nil:
		reasons = append(reasons, "it has a probe already")
	}
	if !d.looked {
		return reasons
	}
	for _, check := range d.plan.Checks {
		if !check.OK {
			reasons = append(reasons, text.Clean(check.Text))
		}
	}
	if len(reasons) == 0 && d.plan.Method == "" {
		reasons = append(reasons, "no way to attach to it is known")
	}
	return reasons
}

func (d Attach) form(width int) form {
	out := form{look: d.look, title: "Attach a probe", apart: 26}
	inner := max(min(width, dialogWidth)-3, 1)
	reasons := d.refusals()
	switch {
	case len(reasons) > 0:
		d.refuse(&out, reasons, inner)
	case !d.looked:
		d.wait(&out, inner)
	default:
		d.ask(&out, inner)
	}
	return out
}

// where returns the facts, with as much of the interpreter's path as fits.
func (d Attach) where(inner int) []cell.Span {
	path := text.Clean(cell.Limit(d.plan.Interpreter))
	name := path[strings.LastIndexByte(path, '/')+1:]
	wordings := []string{d.facts(path), d.facts(d.homely(path)), d.facts(name)}
	return []cell.Span{{d.look.Styles.Text, cell.Fitting(wordings, inner)}}
}

// facts returns GPU, memory, interpreter and start of the process.
func (d Attach) facts(path string) string {
	p := &d.target
	facts := []string{"GPU " + strconv.Itoa(p.GPU)}
	if used, ok := p.Used.Value(); ok {
		facts = append(facts, used.String()+" used")
	}
	if path != "" {
		if version := text.Clean(cell.Limit(d.plan.Version)); version != "" {
			path += " (" + version + ")"
		}
		facts = append(facts, path)
	}
	if !p.Started.IsZero() {
		facts = append(facts, "started "+d.now.Clock(p.Started))
	}
	return strings.Join(facts, ", ")
}

// wait draws the question while the process is examined, about as high as it will be with the plan.
func (d Attach) wait(out *form, inner int) {
	ready := form{look: d.look}
	d.ask(&ready, inner)
	const toCome = 4 // lines: the checks, and what to do next time
	out.lines = [][]cell.Span{nameOf(d.look, &d.target), d.where(inner), nil, {{d.look.Styles.Dim, "examining the process; this changes nothing"}}}
	for len(out.lines) < len(ready.lines)+toCome {
		out.lines = append(out.lines, nil)
	}
	out.buttons = []button{{"Esc", "cancel"}}
}

// ask writes what will be done, and what was checked.
func (d Attach) ask(out *form, inner int) {
	out.lines = [][]cell.Span{nameOf(d.look, &d.target), d.where(inner), nil}
	out.add(d.what(inner), inner)
	last := len(out.lines)
	out.add("The probe stays until the process ends."+d.logged(), inner)
	first := len(out.lines)
	out.lines = append(out.lines, d.checks(inner)...)
	if d.plan.Instead != "" {
		next := "No attaching next time:"
		if d.plan.Method == attach.GDB {
			next = "No debugger next time:"
		}
		out.lines = append(out.lines, []cell.Span{{d.look.Styles.Dim, next + "  "}, {d.look.Styles.Key, text.Clean(cell.Limit(d.plan.Instead))}})
	}
	// The lines that say what will be done are dropped last.
	for i := len(out.lines) - 1; i >= first; i-- {
		out.drop = append(out.drop, i)
	}
	out.drop = append(out.drop, 1)
	for i := first - 1; i >= last; i-- {
		out.drop = append(out.drop, i)
	}
	out.buttons = []button{{"y", "attach"}, {"Esc", "cancel"}}
}

// narrowDialog is the minimum width for whole sentences.
const narrowDialog = 50

// what returns a sentence about the action.
func (d Attach) what(inner int) string {
	if inner < narrowDialog {
		return "This runs vramscope's code inside it (" + map[bool]string{true: "Python's own way", false: "by gdb, which pauses it briefly"}[d.plan.Method == attach.RemoteExec] + ")."
	}
	whose := "your process"
	if owner := d.target.User; owner != d.viewer && owner != "" {
		whose = text.Clean(owner) + "'s process"
	}
	if d.plan.Method == attach.RemoteExec {
		return "This runs vramscope's code inside " + whose + ": Python itself runs it at its next safe point" +
			" (sys.remote_exec), and it starts one thread there. No pause; takes at most 10 s."
	}
	return "This runs vramscope's code inside " + whose + ": gdb pauses it" +
		" briefly and starts one thread there. The pause is usually under 0.1 s."
}

// logged returns in words where the action is logged.
func (d Attach) logged() string {
	directory := text.Clean(cell.Limit(d.log))
	if directory == "" {
		return ""
	}
	return " Logged in " + d.homely(directory) + "."
}

// homely writes a path below the home directory with "~".
func (d Attach) homely(path string) string {
	if rest, ok := strings.CutPrefix(path, d.home); ok && d.home != "" && strings.HasPrefix(rest, "/") {
		return "~" + rest
	}
	return path
}

// A check is "  ok  your own process"; two stand side by side where they fit.
const (
	checkIndent = 6
	checkColumn = 33
)

func (d Attach) checks(inner int) [][]cell.Span {
	s := &d.look.Styles
	columns := 2
	for i, check := range d.plan.Checks {
		room := inner - checkColumn
		if i%2 == 0 {
			room = checkColumn
		}
		if checkIndent+text.Width(text.Clean(check.Text)) > room {
			columns = 1
		}
	}
	var lines [][]cell.Span
	for i, check := range d.plan.Checks {
		words := text.Clean(cell.Limit(check.Text))
		if i%columns == 0 {
			lines = append(lines, nil)
			if columns > 1 && i+1 < len(d.plan.Checks) {
				words = text.Pad(words, checkColumn-checkIndent)
			}
		}
		last := &lines[len(lines)-1]
		*last = append(*last, cell.Span{s.Dim, "  ok  "}, cell.Span{s.Text, words})
	}
	return lines
}

// refuse lists the reasons, and what can be done instead.
func (d Attach) refuse(out *form, reasons []string, inner int) {
	s := &d.look.Styles
	out.lines = [][]cell.Span{nameOf(d.look, &d.target)}
	out.refuse("Cannot attach", inner, reasons...)
	if d.plan.Instead == "" {
		return
	}
	out.lines = append(out.lines, nil)
	out.aside = []cell.Span{{s.Dim, "Instead: start it with  "}, {s.Key, text.Clean(cell.Limit(d.plan.Instead))}}
	// The buttons share the line of aside if there is room.
	if inner < dialogWidth-3 || cell.SpansWidth(out.aside)+2+cell.SpansWidth(out.buttonSpans(buttonsApart)) > inner {
		out.lines = append(out.lines, out.aside)
		out.drop = append(out.drop, len(out.lines)-1)
		out.aside = nil
	}
}
