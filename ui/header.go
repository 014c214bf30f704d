package ui

import (
	"net"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/gpus"
)

// writeHeader writes the first line: the program, the badges, the box and the time. In the past the time is the
// shown moment, with its date.
//
//	vramscope  root@h100-03  8×H100 80GB HBM3  drv 550.163  CUDA 12.4     12:04:17
func writeHeader(l *cell.Line, st *state, lk *cell.Appearance) {
	s := &lk.Styles
	clock := st.clock()
	badges, need := st.badges(), len(" vramscope")
	for _, badge := range badges {
		need += 2 + len(badge)
	}
	l.Skip(1)
	if need <= l.Width() {
		l.Put(s.Strong, "vramscope")
	}
	for _, badge := range badges {
		l.Skip(min(2, l.Used()-1))
		l.Put(s.Badge, badge)
	}
	if st.shown != nil {
		gap := 2
		for i, item := range headerItems(st, lk) {
			if item.Text == "" {
				continue
			}
			if l.Width() >= gpus.LegendWidth && i > 1 {
				gap = 3
			}
			room := l.Width() - (l.Used() + gap + 2 + len(clock) + 1)
			fits := text.Width(item.Text) <= room
			if !fits && (item.Style != s.Warning || room < shortestWarning) {
				break
			}
			l.Skip(gap)
			l.Put(item.Style, text.Cut(item.Text, room, lk.Glyphs.Ellipsis))
			if !fits {
				break
			}
		}
	}
	if l.Used()+2+len(clock)+1 <= l.Width() {
		l.To(l.Width() - len(clock) - 1)
		l.Put(s.Text, clock)
	}
}

// shortestWarning is the smallest number of cells that a warning is cut to: "recording paused".
const shortestWarning = 16

func (st *state) clock() string {
	switch {
	case st.now.IsZero():
		return ""
	case st.past.IsZero() || st.shown == nil:
		return st.now.Format(time.TimeOnly)
	case st.width < fullWidth:
		return st.shown.Time.Format("Jan 2 15:04:05")
	default:
		return st.shown.Time.Format(time.DateTime)
	}
}

const badgePast, badgeFrozen = "PAST", "FROZEN"

func (st *state) badges() []string {
	var badges []string
	if st.shown != nil && st.shown.Simulated {
		badges = append(badges, "SIMULATED")
	}
	if st.readOnly {
		badges = append(badges, "READ-ONLY")
	}
	if n := len(st.incidents.unread); n > 0 {
		badges = append(badges, strconv.Itoa(n)+" UNREAD")
	}
	switch {
	case !st.past.IsZero():
		badges = append(badges, badgePast)
	case st.frozen:
		badges = append(badges, badgeFrozen)
	}
	return badges
}

// headerItems returns the items of the header, the most important first. A pane has fewer and shorter items.
func headerItems(st *state, lk *cell.Appearance) []cell.Span {
	s, shown := &lk.Styles, st.shown
	pane, wide := st.width < fullWidth, st.width >= gpus.LegendWidth
	host := shortHost(shown.Host.Name, lk)
	if !pane && shown.Host.User != "" {
		host = text.Clean(shown.Host.User) + "@" + host
	}
	items := make([]cell.Span, 0, 8)
	items = append(items, cell.Span{s.Text, host})
	if words := driverWords(shown, st.now); words != "" {
		return append(items, cell.Span{s.Warning, words})
	}
	if words := recordingWords(shown, wide); words != "" {
		items = append(items, cell.Span{s.Warning, words})
	}
	box := cell.Span{s.Text, boxName(shown, lk, pane, wide)}
	guard := cell.Span{guardStyle(shown, st.moment(), s), guardWords(shown, st.moment())}
	if hindered(shown.Guard, st.moment()) {
		box, guard = guard, box
	}
	items = append(items, box, guard)
	if pane {
		return items
	}
	driver, version := "drv ", shown.Driver.Version
	if wide {
		driver = "driver "
	} else if parts := strings.Split(version, "."); len(parts) > 2 {
		version = parts[0] + "." + parts[1]
	}
	if version != "" {
		items = append(items, cell.Span{s.Dim, driver + text.Clean(version)})
	}
	if shown.Driver.CUDAVersion != "" {
		items = append(items, cell.Span{s.Dim, "CUDA " + text.Clean(shown.Driver.CUDAVersion)})
	}
	if total, ok := shown.Host.MemoryTotal.Value(); ok && st.width >= 160 {
		if used, ok := shown.Host.MemoryUsed.Value(); ok {
			items = append(items, cell.Span{s.Dim, "host RAM " + wholeGiB(used) + "/" + wholeGiB(total) + "G"})
		}
	}
	if load, ok := shown.Host.Load.Value(); ok && st.width >= 160 {
		items = append(items, cell.Span{s.Dim, "load " + strconv.FormatFloat(load, 'f', 1, 64)})
	}
	return items
}

func shortHost(name string, lk *cell.Appearance) string {
	const maxCells = 28
	name = text.Clean(name)
	if own, _, found := strings.Cut(name, "."); found && net.ParseIP(name) == nil && own != "" {
		name = own
	}
	return text.Cut(name, maxCells, lk.Glyphs.Ellipsis)
}

// driverWords replaces the GPUs in the header if there is no driver.
func driverWords(shown *snapshot.Snapshot, now time.Time) string {
	switch shown.Driver.State {
	case snapshot.DriverOK, "":
		return ""
	case snapshot.DriverGone:
		return "driver gone " + quantity.Duration(now.Sub(shown.Driver.Since)) + " ago"
	case snapshot.DriverNotLoaded:
		return "no driver loaded"
	case snapshot.DriverNoCgo:
		return "built without cgo"
	case snapshot.DriverStarting:
		return "waiting for the driver"
	default:
		return "no driver"
	}
}

// recordingWords says that the daemon records nothing at present and, if there is room, why.
func recordingWords(shown *snapshot.Snapshot, wide bool) string {
	switch {
	case shown.RecordingPaused == "":
		return ""
	case wide:
		return "recording paused: " + text.Clean(shown.RecordingPaused)
	default:
		return "recording paused"
	}
}

// boxName returns "8×H100 80GB HBM3", or a list if there are several kinds of GPU. GPUs without a name count as
// the only known kind, or else as a kind of their own.
func boxName(shown *snapshot.Snapshot, lk *cell.Appearance, pane, wide bool) string {
	var names []string
	counts := make(map[string]int, 1)
	nameless := 0
	for i := range shown.GPUs {
		name := shown.GPUs[i].Name
		switch {
		case name == "":
			nameless++
			continue
		case counts[name] == 0:
			names = append(names, name)
		}
		counts[name]++
	}
	switch {
	case len(names) == 1:
		counts[names[0]] += nameless
	case nameless > 0:
		names = append(names, "GPU")
		counts["GPU"] = nameless
	}
	s := ""
	for i, name := range names {
		if i > 0 {
			s += ", "
		}
		s += strconv.Itoa(counts[name]) + lk.Glyphs.Times + headerName(name, pane || len(names) > 1, wide)
	}
	const maxCells = 48
	switch {
	case len(names) == 0:
		return "no GPU"
	case len(names) == 1 && shown.GPUs[0].Memory.Total.Source() == quantity.System:
		return s + ", system memory"
	case len(names) > 1 && text.Width(s) > maxCells:
		return strconv.Itoa(len(shown.GPUs)) + " GPUs of " + strconv.Itoa(len(names)) + " kinds"
	default:
		return s
	}
}

// headerName returns the name of a GPU, shorter in a pane and in full on a wide screen.
func headerName(name string, pane, wide bool) string {
	if wide {
		return gpus.FullName(name)
	}
	name = gpus.ShortName(name)
	if i := strings.Index(name, " HBM"); pane && i >= 0 {
		name = name[:i]
	}
	return name
}

func wholeGiB(amount quantity.Bytes) string {
	return strconv.FormatFloat(float64(amount)/float64(quantity.GiB), 'f', 0, 64)
}
