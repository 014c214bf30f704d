package screen

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"vramscope/fleet"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// drawnGPU returns a GPU with its memory, sensors and job.
func drawnGPU(box string, index int, used, allocated, fragmented, returnable quantity.Bytes) fleet.Line {
	l := line(box, index, 0)
	known := func(gib quantity.Bytes) snapshot.Bytes { return quantity.From(gib*quantity.GiB, quantity.Driver) }
	g := &l.GPU
	g.Name = "H100"
	g.Memory = snapshot.Memory{Used: known(used), Total: known(80), Free: known(80 - used)}
	g.Parts = snapshot.Parts{Allocated: known(allocated), Fragmented: known(fragmented), Returnable: known(returnable), Unknown: known(used - allocated - fragmented - returnable)}
	g.Utilization, g.Temperature = quantity.From(97-int(used), quantity.Driver), quantity.From(50+int(used)/4, quantity.Driver)
	g.Power = quantity.From(300+4*float64(used), quantity.Driver)
	l.Job = "40123"
	return l
}

// drawnFaults returns a line of each kind, worst first.
func drawnFaults() []fleet.Line {
	full, down, stopped, lost := drawnGPU("h100-01", 3, 74, 66, 3, 4), line("h100-02", -1, 0), line("h100-03", -1, 0), line("h100-04", 6, 0)
	hot, unknown, smi, box := drawnGPU("h100-05", 0, 61, 50, 4, 6), line("h100-06", 1, 0), line("node-1", 2, 41), drawnGPU("h100-08", -1, 55, 40, 3, 8)
	full.Alert, full.Severity, full.GPU.FullIn = snapshot.AlertFullIn, snapshot.Urgent, &snapshot.FullIn{Median: 272 * time.Second, Earliest: 3 * time.Minute, Latest: 6 * time.Minute}
	down.State, down.Why = fleet.Down, "the engine cannot scrape it"
	stopped.State, stopped.Why = fleet.Stopped, "its figures are 5m old"
	lost.GPU.State, lost.Alert, lost.GPU.Memory = snapshot.GPULost, snapshot.AlertLost, snapshot.Memory{}
	hot.GPU.Temperature, hot.GPU.TemperatureSlowdown = quantity.From(87, quantity.Driver), quantity.From(90, quantity.Driver)
	hot.Alert, hot.User = snapshot.AlertThrottled, "bob"
	unknown.GPU.Memory.Used = snapshot.Bytes{}
	smi.User, smi.Program = "", ""
	box.GPU.UUID, box.GPUs, box.User, box.Program, box.Job = "", 8, "", "", ""
	for _, l := range []*fleet.Line{&down, &stopped} {
		l.GPU, l.GPUs = snapshot.GPU{Index: -1}, 0
	}
	return []fleet.Line{full, down, stopped, lost, hot, unknown, smi, box}
}

func drawnList() []fleet.Line {
	var lines []fleet.Line
	for i := range quantity.Bytes(46) {
		lines = append(lines, drawnGPU(fmt.Sprintf("h100-%02d", 1+i/8), int(i%8), 78-i, (78-i)*3/4, 2, (78-i)/10))
	}
	return lines
}

// drawnShares returns lines of users or jobs.
func drawnShares(unit fleet.Unit) []fleet.Line {
	var lines []fleet.Line
	for i, user := range []string{"alice", "bob", "carol", ""} {
		l := drawnGPU("", -1, quantity.Bytes(61-7*i), quantity.Bytes(40-5*i), 2, quantity.Bytes(9-2*i))
		l.Box, l.GPU.UUID, l.Job, l.User, l.Program = "", "", "", user, ""
		l.GPUs, l.Boxes, l.Idle, l.Jobs = 3, quantity.From(2, quantity.Computed), quantity.From(max(1-i, 0), quantity.Computed), quantity.From(i, quantity.Computed)
		if unit == fleet.Jobs && user != "" {
			l.Job = fmt.Sprint(40123 + i)
		}
		lines = append(lines, l)
	}
	return lines
}

func showing(m *model, unit fleet.Unit) {
	m.Place.Unit, m.view.Picture.Unit, m.view.Picture.Queries, m.view.Totals.Own = unit, unit, fleet.Raw, unit == fleet.Jobs
}

// TestScreens compares screens with their golden text.
func TestScreens(t *testing.T) {
	states := []struct {
		name  string
		lines []fleet.Line
		do    func(*testing.T, *model)
	}{
		{"list", drawnList(), func(t *testing.T, m *model) { m.type_(t, "down", "down", "down") }},
		{"faults", drawnFaults(), func(_ *testing.T, m *model) {
			m.view.Picture.Problems = []string{"alert: the query took too long for it: query timed out", "the clock of h100-09 differs from the engine's"}
		}},
		{"filter", drawnList()[:5], func(t *testing.T, m *model) {
			m.Place.Filter, _ = fleet.ParseFilter("user=alice")
			m.view.Query.Filter = m.Place.Filter
			m.type_(t, "/", " state=full")
		}},
		{"silent", drawnList()[:5], func(_ *testing.T, m *model) { m.view.Err = errors.New("not reached: connection refused") }},
		{"opening", drawnList()[:5], func(t *testing.T, m *model) { m.type_(t, "down", "enter") }},
		{"users", drawnShares(fleet.Users), func(_ *testing.T, m *model) { showing(m, fleet.Users) }},
		{"jobs", drawnShares(fleet.Jobs), func(_ *testing.T, m *model) { showing(m, fleet.Jobs) }},
		{"help", nil, func(t *testing.T, m *model) { m.type_(t, "?") }},
	}
	draw := func(t *testing.T, width, height int, lines []fleet.Line, do func(*testing.T, *model), ascii bool) []string {
		m := shown(t, width, height, lines...)
		m.Traits.Profile, m.Theme = colorprofile.NoTTY, "mono"
		m.restyle()
		if ascii {
			m.look.Glyphs = cell.ASCIIGlyphs()
		}
		do(t, m)
		drawn := strings.Split(ansi.Strip(m.text()), "\n")
		for i, l := range drawn {
			if text := strings.TrimRight(l, " "); ansi.StringWidth(l) != width {
				t.Errorf("line %d has %d cells: %q", i, ansi.StringWidth(l), text)
			} else {
				drawn[i] = text
			}
		}
		return drawn
	}
	for _, s := range states {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 50}} {
			if s.name != "list" && s.name != "faults" && size[0] != 80 {
				continue
			}
			for _, ascii := range []bool{false, true} {
				if ascii && (size[0] != 80 || s.name != "list" && s.name != "faults") {
					continue
				}
				name := fmt.Sprintf("%s-%dx%d", s.name, size[0], size[1])
				if ascii {
					name += "-ascii"
				}
				t.Run(name, func(t *testing.T) {
					golden.RequireEqual(t, []byte(strings.Join(draw(t, size[0], size[1], s.lines, s.do, ascii), "\n")+"\n"))
				})
			}
		}
	}
}
