package detail

import (
	"strconv"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

func (d Panel) state() []cell.Span {
	s, p := &d.Appearance.Styles, d.process
	switch {
	case d.ended != nil:
		return []cell.Span{{s.Warning, d.ending()}}
	case p.ID.Process.Foreign():
		return []cell.Span{{s.Dim, p.ID.Process.Whose() + ": nothing more can be known here"}}
	case p.Probe == nil:
		return []cell.Span{{s.Dim, "no probe: " + d.advice()}}
	}
	age := ageOf(p.Probe.Age)
	switch p.Probe.State {
	case snapshot.ProbeStale:
		return []cell.Span{{s.Warning, "probe stale: the parts are as of " + age + " ago" + byDaemon(p.Probe)}}
	case snapshot.ProbeSilent:
		return []cell.Span{{s.Warning, "probe silent " + age + ": its figures are too old to show"}}
	default:
		return []cell.Span{{s.Text, "probe live, " + age + " old" + startedBy(p.Probe.StartedBy) + byDaemon(p.Probe)}}
	}
}

func (d Panel) ending() string {
	g := d.ended
	text := "ended " + quantity.Duration(d.Now.Since(g.Ended)) + " ago at " + d.Now.Clock(g.Ended)
	if peak, ok := g.Last.Peak.Value(); ok {
		text += ", peak " + peak.String()
	}
	if count, ok := g.OutOfMemoryCount.Value(); ok && count > 0 {
		text += ", out of memory " + d.Appearance.Glyphs.Times + strconv.FormatInt(count, 10)
	}
	if status, ok := g.ExitStatus.Value(); ok {
		text += ", exit " + strconv.Itoa(status)
	}
	return text + ". Last figures:"
}

// advice returns how to get a probe.
func (d Panel) advice() string {
	const next = "next time start it with  vramscope run"
	if d.Appearance.Keys.Has(keys.Attach) && d.Snapshot.Own(d.process) {
		return "a attaches one; " + next
	}
	return next
}

// ageOf returns a probe's age, with tenths below ten seconds.
func ageOf(age time.Duration) string {
	if age < 10*time.Second {
		return strconv.FormatFloat(max(age, 0).Seconds(), 'f', 1, 64) + "s"
	}
	return quantity.Duration(age)
}

// byDaemon returns ", by the daemon" if the daemon asked the probe, because this user may not.
func byDaemon(p *snapshot.Probe) string {
	if p.ByDaemon {
		return ", by the daemon"
	}
	return ""
}

// startedBy returns how the probe got into the process, "" if unknown.
func startedBy(way string) string {
	words := map[string]string{"": "", "import": ", imported by the program", "attach": ", attached while it ran", "preload": ", preloaded"}
	if known, ok := words[way]; ok {
		return known
	}
	return ", started by " + text.Clean(cell.Limit(way))
}
