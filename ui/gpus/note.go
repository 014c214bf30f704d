package gpus

import (
	"cmp"
	"strconv"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
)

// The note at the end of a GPU's line is the first of these: lostNote, an alert in the order of noteOrder, whether a job
// fits (H), calmNote. Red calls for action, yellow is a warning; the owner is dim.

// noteOrder lists the kinds of alert that a note can be about, the worst first, each with its name in a short line.
var noteOrder = [...]struct {
	kind  snapshot.AlertKind
	brief string
}{
	{snapshot.AlertECC, "ECC"}, {snapshot.AlertOutOfMemory, "OOM"}, {snapshot.AlertFullIn, "full"}, {snapshot.AlertLowMemory, "low"},
	{snapshot.AlertLeak, "leak"}, {snapshot.AlertXID, "XID"}, {snapshot.AlertHanging, "hangs"}, {snapshot.AlertThrottled, "slow"},
}

type note struct {
	text  string
	alarm bool         // "! " stands before the text
	style themes.Style // the style of an alarm
	owner string       // who uses the GPU, where an alarm leaves room for that
}

func (p *Panel) note(line Line, c columns) note {
	if line.Instance != nil {
		if fits := p.fits(line); fits != "" {
			return note{text: fits}
		}
		owner := p.owner(line.Place(), true, false)
		if owner == "" && line.Instance.ProcessCount.Known() {
			owner = "empty"
		}
		return note{text: owner}
	}
	brief := c.note < minNote-6 // an alarm in its shortest form, or nothing
	if text := p.Appearance.Glyphs.Words(lostNote(line.GPU, p.Now, brief)); text != "" {
		return note{text: text, alarm: true, style: p.Appearance.Styles.Warning}
	}
	for _, rule := range noteOrder {
		about := func(a *snapshot.Alert) bool { return a.Kind == rule.kind && a.GPUUUID == line.GPU.UUID }
		if alert := snapshot.Find(p.Snapshot.Alerts, about); alert != nil {
			n := note{text: p.Appearance.Glyphs.Words(alert.Note), alarm: true, style: p.Appearance.Styles.Warning}
			if alert.Severity == snapshot.Urgent {
				n.style = p.Appearance.Styles.Alarm
			}
			switch fills := rule.kind == snapshot.AlertFullIn && line.GPU.FullIn != nil; {
			case fills && brief:
				n.text = line.GPU.FullIn.Until()
			case fills:
				n.text = line.GPU.FullIn.Words(p.Appearance.Glyphs.EnDash)
			case brief:
				n.text = rule.brief
			}
			if c.note >= maxNote {
				n.owner = p.owner(line.Place(), false, true)
			}
			return n
		}
	}
	if brief {
		return note{}
	}
	if fits := p.fits(line); fits != "" {
		return note{text: fits}
	}
	return note{text: p.calmNote(line, c)}
}

func lostNote(gpu *snapshot.GPU, now time.Time, brief bool) string {
	if gpu.State == snapshot.GPUOK || gpu.State == "" {
		return ""
	}
	s := text.Clean(gpu.Message)
	switch {
	case gpu.State == snapshot.GPUHanging:
		s = "no answer"
	case !gpu.RetryAt.IsZero():
		s = "retry"
		if !brief {
			s += " " + quantity.Duration(gpu.RetryAt.Sub(now))
		}
	case gpu.State == snapshot.GPULost:
		s = gpu.StateWord()
	}
	if used, ok := gpu.LastUsed.Value(); ok && !brief {
		s += ", had " + used.String()
	}
	return s
}

// stateWords returns the wordings in the bar of a GPU that does not answer, the longest first.
func stateWords(gpu *snapshot.GPU, now time.Time) []string {
	word := gpu.StateWord()
	if gpu.State == snapshot.GPUHanging {
		word = "no answer"
	}
	if gpu.Since.IsZero() {
		return []string{word}
	}
	since := word + " " + quantity.Duration(now.Sub(gpu.Since))
	if gpu.State == snapshot.GPUHanging {
		return []string{since, word, "silent"}
	}
	return []string{since + " ago", since, word}
}

// calmNote returns the note of a GPU without an alarm: MIG instances, throttling, an idle job that has the GPU, its idle
// time, or its owner and unattributed memory.
func (p *Panel) calmNote(line Line, c columns) string {
	gpu := line.GPU
	if gpu.MIG || len(gpu.Instances) > 0 {
		return migNote(gpu)
	}
	owner := p.owner(snapshot.Place{GPUUUID: gpu.UUID}, true, c.note >= maxNote || !p.idle(gpu))
	switch a := gpu.Allocation; {
	case len(gpu.Throttled) > 0:
		return "throttled: " + text.Clean(gpu.Throttled[0])
	case a != nil:
		idle := "idle " + cell.CoarseDuration(p.Now.Sub(a.Since)) + ", "
		if named := idle + text.Clean(a.String()); text.Width(named) <= c.note-4 {
			return named
		}
		return idle + text.Clean(cmp.Or(a.User, a.Job.String()))
	case p.idle(gpu):
		s := "idle " + cell.CoarseDuration(p.Now.Sub(gpu.IdleSince))
		if owner != "" {
			s += ", " + owner
		}
		return s
	default:
		return withUnattributed(owner, gpu, c.note-4)
	}
}

// withUnattributed adds memory that belongs to no listed process, if it is 1 GiB or more. If there is no room for
// both and most of the used memory is unattributed, the owner is left out.
func withUnattributed(owner string, gpu *snapshot.GPU, cells int) string {
	rest, ok := gpu.Unattributed.Value()
	if !ok || rest < quantity.GiB {
		return owner
	}
	s := rest.String() + " unattributed"
	if len(gpu.Holders) > 0 {
		h := &gpu.Holders[0]
		named := s + ": " + strconv.Itoa(h.Process.PID) + " " + text.Clean(h.Name)
		if more := len(gpu.Holders) - 1; more > 0 {
			named += " +" + strconv.Itoa(more)
		}
		if text.Width(named) <= cells {
			s = named
		}
	}
	switch {
	case owner == "":
		return s
	case text.Width(owner)+2+len(s) <= cells:
		return owner + ", " + s
	case rest > gpu.Memory.Used.Or(0)/2:
		return s
	default:
		return owner
	}
}

// idle reports whether more than 1 GiB is used and nothing has run for IdleAfter.
func (p *Panel) idle(gpu *snapshot.GPU) bool {
	return !gpu.IdleSince.IsZero() && p.Now.Sub(gpu.IdleSince) > p.IdleAfter && gpu.Memory.Used.Or(0) > quantity.GiB
}

func migNote(gpu *snapshot.GPU) string {
	text, spare := "MIG "+strconv.Itoa(len(gpu.Instances))+" inst", snapshot.MIGSlices
	if len(gpu.Instances) > 0 {
		spare = cmp.Or(gpu.Instances[0].Whole, spare)
	}
	for i := range gpu.Instances {
		if gpu.Instances[i].Slices == 0 {
			return text
		}
		spare -= gpu.Instances[i].Slices
	}
	if spare > 0 {
		text += ", " + strconv.Itoa(spare) + "g spare"
	}
	return text
}

// owner names the process with the most memory, and counts the others: "dave dlrm.py +1".
func (p *Panel) owner(at snapshot.Place, program, count bool) string {
	held := p.holder(at)
	if held.process == nil {
		return ""
	}
	name, more := "", ""
	if program && !held.process.ID.Process.Foreign() {
		if name = p.Appearance.ProgramName(held.process); name != "" {
			name = " " + name
		}
	}
	others := held.compute
	if held.process.Type != "G" {
		others--
	}
	if count && others > 0 {
		more = " +" + strconv.Itoa(others)
	}
	return cell.UserName(held.process) + name + more
}

// writeNote writes the note into the last cells, after the mark of an alarm or a blank in its place.
func (p *Panel) writeNote(l *cell.Line, n note, cells int) {
	s, g := &p.Appearance.Styles, &p.Appearance.Glyphs
	end := l.Used() + cells
	l.Skip(1)
	cells = min(cells, maxNote) - 1
	if !n.alarm {
		l.Skip(2)
		l.Put(s.Dim, text.Cut(n.text, cells-3, g.Ellipsis))
		l.To(end)
		return
	}
	l.Put(n.style, text.Cut("! "+n.text, cells, g.Ellipsis))
	if room := end - l.Used() - 4; n.owner != "" && room >= text.Width(n.owner) {
		l.Skip(3)
		l.Put(s.Dim, n.owner)
	}
	l.To(end)
}
