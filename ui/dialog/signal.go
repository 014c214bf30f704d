package dialog

import (
	"strconv"
	"strings"
	"syscall"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// Signal asks before a signal is sent to a process. The process may end meanwhile.
type Signal struct {
	subject
	chosen int
}

type signalChoice struct {
	signal syscall.Signal
	choice
}

// signalChoices returns the signals. The first one, the gentlest, is the default. KILL is on 9,
// as in kill -9, because k moves the cursor.
func signalChoices() []signalChoice {
	return []signalChoice{
		{syscall.SIGTERM, choice{"t", "TERM", "asks it to exit; it may save its work first"}},
		{syscall.SIGINT, choice{"i", "INT", "as Ctrl-C would: Python raises KeyboardInterrupt"}},
		{syscall.SIGKILL, choice{"9", "KILL", "kills it, unsaved; the driver frees its memory"}},
		{syscall.SIGSTOP, choice{"s", "STOP", "halts it; it keeps its GPU memory"}},
		{syscall.SIGCONT, choice{"c", "CONT", "continues a halted process"}},
		{syscall.SIGUSR1, choice{"u", "USR1", "up to the program, often a checkpoint; else it exits"}},
	}
}

// NewSignal asks about the process of a row.
func NewSignal(lk *cell.Appearance, now *Screen, id snapshot.RowID) Signal {
	return Signal{subject: newSubject(lk, now, id)}
}

// Signal returns the chosen signal.
func (d Signal) Signal() syscall.Signal { return signalChoices()[d.chosen].signal }

func (d Signal) Follow(now *Screen) Overlay {
	d.subject = d.following(now)
	return d
}

func (d Signal) Size(int) int { return d.form().height() }

func (d Signal) Render(width, height int) []string { return d.form().Render(width, height) }

func (d Signal) Hints() []keys.Hint { return d.form().hints() }

func (d Signal) Press(name string, _, height int) (Overlay, Outcome) {
	if refuses(name) {
		return d, Closed
	}
	if len(d.refusals()) > 0 || height < MinLines {
		return d, Handled
	}
	if name == "y" {
		return d, Confirmed
	}
	d.chosen = d.form().choose(name)
	return d, Handled
}

func (d Signal) refusals() []string {
	var reasons []string
	if d.target.ID.Process.Foreign() {
		reasons = append(reasons, "it is "+d.target.ID.Process.Whose())
	}
	if d.ended() {
		reasons = append(reasons, "it has ended")
	}
	return reasons
}

func (d Signal) form() form {
	s := &d.look.Styles
	facts := append(d.where(), startAndJob(d.now, &d.target)...)
	out := form{look: d.look, title: "Send a signal", lines: [][]cell.Span{nameOf(d.look, &d.target), {{s.Text, strings.Join(facts, ", ")}}}}
	if reasons := d.refusals(); len(reasons) > 0 {
		out.refuse("Cannot send a signal", dialogWidth-3, reasons...)
		return out
	}
	if warning := d.warning(); warning != "" {
		out.lines = append(out.lines, []cell.Span{{s.Warning, warning}})
	}
	out.lines = append(out.lines, nil)
	for _, c := range signalChoices() {
		out.choices = append(out.choices, c.choice)
	}
	out.chosen = d.chosen
	out.buttons = []button{{"y", "send " + out.choices[d.chosen].name}, {"Esc", "cancel"}}
	return out
}

// where returns the GPUs of the process, and the memory that it uses on all of them.
func (d Signal) where() []string {
	gpus, used := "", snapshot.Bytes{}
	for i := range d.all {
		if i > 0 {
			gpus += ","
		}
		gpus += strconv.Itoa(d.all[i].GPU)
		used = quantity.Sum(used, d.all[i].Used)
	}
	if gpus == "" {
		gpus, used = strconv.Itoa(d.target.GPU), d.target.Used
	}
	facts := []string{"GPU " + gpus}
	if v, ok := used.Value(); ok {
		facts = append(facts, v.String()+" used")
	}
	return facts
}

// warning names the owner if that is another user.
func (d Signal) warning() string {
	owner := d.target.User
	switch {
	case owner == "" || d.viewer == "" || owner == d.viewer:
		return ""
	case d.viewer == "root":
		return text.Clean(owner) + "'s process; allowed because you are root"
	default:
		return text.Clean(owner) + "'s process, you are " + text.Clean(d.viewer) + ": the kernel will most likely refuse"
	}
}
