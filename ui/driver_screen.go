package ui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
)

// driverRows is the height of the driver screen, with its blank lines.
const driverRows = 8

type driverScreen struct {
	look  *cell.Appearance
	shown *snapshot.Snapshot
	now   time.Time
}

// Render returns exactly height lines of exactly width cells.
func (d driverScreen) Render(width, height int) []string {
	s := &d.look.Styles
	out := make([]string, 0, height)
	write := func(style themes.Style, name, text string) {
		for _, spans := range d.look.Paragraph(cell.Span{s.Dim, "  " + name}, style, text, width-2, 3) {
			out = append(out, cell.Indented(d.look, width, spans...))
		}
	}
	if height >= 6 {
		out = append(out, cell.Blank(width, 1)...)
	}
	write(s.Warning, "", d.happened())
	write(s.Text, "", d.next())
	if len(out) < height-1 {
		out = append(out, cell.Blank(width, 1)...)
	}
	write(s.Text, "Last seen   ", d.lastSeen())
	write(s.Text, "Still here  ", d.answering())
	return cell.Fill(out, width, height)
}

// answering says how many probes still answer, "" for none.
func (d driverScreen) answering() string {
	n := d.shown.Driver.ProbesAnswering
	if n == 0 {
		return ""
	}
	return text.Plural(n, "probe answers: its", "probes answer: their") + " allocators below; used and other unknown."
}

func (d driverScreen) happened() string {
	driver := &d.shown.Driver
	reason := ""
	if driver.Message != "" {
		reason = " (" + text.Clean(driver.Message) + ")"
	}
	switch driver.State {
	case snapshot.DriverGone:
		return "The NVIDIA driver went away at " + driver.Since.Format(time.TimeOnly) + reason + "."
	case snapshot.DriverNotLoaded:
		return "A driver library is here, but no NVIDIA driver is loaded" + reason + "."
	case snapshot.DriverNoCgo:
		return "This vramscope was built without cgo: it cannot read the driver."
	case snapshot.DriverStarting:
		return "The NVIDIA driver has not answered yet" + reason + "."
	default:
		return "There is no NVIDIA driver library here" + reason + "."
	}
}

func (d driverScreen) next() string {
	driver := &d.shown.Driver
	text := ""
	if driver.State == snapshot.DriverGone {
		text = "Unloaded or upgraded? "
	}
	if driver.RetryAt.IsZero() {
		return text
	}
	wait := max(driver.RetryAt.Sub(d.now), 0).Round(time.Second)
	text += "Next try in " + strconv.Itoa(int(wait/time.Second)) + " s"
	if driver.State == snapshot.DriverGone {
		text += "; the history is kept"
	}
	return text + "."
}

// lastSeen describes the box as the driver last reported it.
func (d driverScreen) lastSeen() string {
	seen := *d.shown
	seen.GPUs = slices.DeleteFunc(slices.Clone(seen.GPUs), func(g snapshot.GPU) bool {
		return g.Message == snapshot.ProbeDataOnly
	})
	if len(seen.GPUs) == 0 {
		return ""
	}
	var used, total quantity.Bytes
	for i := range seen.GPUs {
		gpu := &seen.GPUs[i]
		if v, ok := gpu.Memory.Used.Value(); ok {
			used += v
		} else {
			used += gpu.LastUsed.Or(0)
		}
		total += gpu.Memory.Total.Or(0)
	}
	s := boxName(&seen, d.look, true, false)
	s, _, _ = strings.Cut(s, " ")
	if total > 0 {
		s += ", " + wholeGiB(used) + " of " + wholeGiB(total) + "G used"
	}
	if d.shown.Driver.Version != "" {
		s += ", driver " + text.Clean(d.shown.Driver.Version)
	}
	return s
}
