package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/sorted"
	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// table is the text form of a snapshot: a line about the box, a block of
// GPUs, a block of processes, and the warnings.
//
//	h100-03  2026-11-20 12:04:17  driver 550.163.01  CUDA 12.4  8 GPUs  13 processes, 7 with a probe
//
//	GPU   USED  TOTAL   FREE  …
//	…
//	alert  gpu 6  lost since 12:02:03
type table struct {
	snap  *snapshot.Snapshot
	signs Signs
}

// Table returns the table, its lines cut to width unless that is 0.
func Table(snap *snapshot.Snapshot, width int, ascii bool) string {
	t := table{snap: snap, signs: SignsFor(ascii)}
	gpus, processes := t.gpus(), t.processes()
	if width > 0 {
		t.fit(&gpus, &processes, width)
	} else {
		processes.drop("JOB") // scripts depend on the number of columns
	}
	lines := []string{t.box(width, gpus.place("NAME") < 0)}
	if len(gpus.rows) > 0 {
		lines = append(append(lines, ""), gpus.lines()...)
	}
	if len(processes.rows) > 0 {
		lines = append(append(lines, ""), processes.lines()...)
	}
	if warnings := t.warnings(); len(warnings) > 0 {
		lines = append(append(lines, ""), warnings...)
	}
	return cutLines(lines, width, t.signs.Ellipsis)
}

// commandLeast is how many cells of the command a terminal should show.
const commandLeast = 16

// nameLeast is the least width of the column NAME, in cells. With less room, the first line has the names.
const nameLeast = 12

// fit leaves out the columns for which width has no room and, without a probe, those that only probes
// fill.
func (t *table) fit(gpus, processes *grid, width int) {
	probed := slices.ContainsFunc(t.snap.Rows, func(p snapshot.Process) bool { return p.Probe != nil || p.Runtime != "" })
	if !probed {
		gpus.drop("FLUSH")
		processes.drop("RUNTIME", "ALLOC", "FRAG", "CACHE", "OTHER", "FLUSH")
	}
	if gpus.start()+nameLeast > width {
		gpus.drop("NAME")
	}
	if processes.start()+2*commandLeast > width {
		processes.drop("JOB")
	}
	for _, title := range []string{"OTHER", "RUNTIME", "TYPE", "FLUSH", "FRAG", "ALLOC", "CACHE", "+60s"} {
		if processes.start()+commandLeast <= width {
			break
		}
		processes.drop(title)
	}
}

// box returns the line about the box, shortened if width has no room for all of it. names adds the name
// that all GPUs share.
func (t *table) box(width int, names bool) string {
	s := t.snap
	var driver []string
	if s.Driver.State == snapshot.DriverOK {
		if s.Driver.Version != "" {
			driver = append(driver, "driver "+text.Clean(s.Driver.Version))
		}
		if s.Driver.CUDAVersion != "" {
			driver = append(driver, "CUDA "+text.Clean(s.Driver.CUDAVersion))
		}
	} else {
		driver = append(driver, "no driver ("+string(s.Driver.State)+")")
	}
	processes, probed := make(map[process.Identity]bool), make(map[process.Identity]bool)
	for i := range s.Rows {
		id := s.Rows[i].ID.Process
		processes[id] = true
		if s.Rows[i].Probe != nil {
			probed[id] = true
		}
	}
	people := text.Plural(len(processes), "process", "processes")
	if len(probed) > 0 {
		people += fmt.Sprintf(", %d with a probe", len(probed))
	}
	head := []string{oneWord(cmp.Or(s.Host.Name, "?"))}
	head = append(append(head, simulated(s.Simulated)...), s.Time.Format("2006-01-02 15:04:05"))
	count := text.Plural(len(s.GPUs), "GPU", "GPUs")
	if kind := t.kind(); names && kind != "" {
		count = strconv.Itoa(len(s.GPUs)) + "x " + kind
	}
	for {
		line := strings.Join(slices.Concat(head, driver, []string{count, people}), "  ")
		switch {
		case width == 0 || text.Width(line) <= width:
			return line
		case len(driver) > 0 && s.Driver.State == snapshot.DriverOK:
			driver = driver[:len(driver)-1]
		case strings.Contains(people, ", "):
			people, _, _ = strings.Cut(people, ", ")
		default:
			return line
		}
	}
}

// kind returns the name that all GPUs share, or "" if they differ.
func (t *table) kind() string {
	name := ""
	for i := range t.snap.GPUs {
		own := text.Clean(strings.TrimPrefix(t.snap.GPUs[i].Name, "NVIDIA "))
		if name != "" && own != name {
			return ""
		}
		name = own
	}
	return name
}

func (t *table) gpus() grid {
	g := grid{columns: []column{
		{"GPU", true, 3}, {"USED", true, 5}, {"TOTAL", true, 5}, {"FREE", true, 5}, {"FLUSH", true, 5},
		{"UTIL", true, 4}, {"TEMP", true, 4}, {"POWER", true, 8}, {"STATE", false, 5}, {"USERS", false, 12}, {"FULL_IN", false, 7}, {"NAME", false, 0},
	}}
	forecast := false
	for i := range t.snap.GPUs {
		gpu := &t.snap.GPUs[i]
		free := t.signs.Bytes(gpu.Memory.Free)
		if gpu.MIG {
			free = t.signs.Dash // no process can use memory that belongs to no instance
		}
		forecast = forecast || gpu.FullIn != nil
		g.rows = append(g.rows, []string{
			strconv.Itoa(gpu.Index), t.signs.Bytes(gpu.Memory.Used), t.signs.Bytes(gpu.Memory.Total), free, t.signs.Bytes(gpu.Parts.Returnable),
			t.metric(gpu, metric.Utilization), t.metric(gpu, metric.Temperature), t.power(gpu.Power, gpu.PowerLimit),
			oneWord(gpu.StateWord()), t.users(gpu.UUID, snapshot.InstanceID{}), t.fullIn(gpu.FullIn), text.Clean(strings.TrimPrefix(gpu.Name, "NVIDIA ")),
		})
		for j := range gpu.Instances {
			instance := &gpu.Instances[j]
			forecast = forecast || instance.FullIn != nil
			g.rows = append(g.rows, []string{
				instanceName(gpu.Index, j+1), t.signs.Bytes(instance.Memory.Used), t.signs.Bytes(instance.Memory.Total),
				t.signs.Bytes(instance.Memory.Free), t.signs.Bytes(instance.Parts.Returnable),
				t.signs.Dash, t.signs.Dash, t.signs.Dash, oneWord(gpu.StateWord()), t.users(gpu.UUID, instance.ID),
				t.fullIn(instance.FullIn), "MIG " + text.Clean(instance.Profile),
			})
		}
	}
	if !forecast {
		g.drop("FULL_IN")
	}
	return g
}

var processMetrics = []struct {
	title string
	id    metric.ID
}{
	{"USED", metric.Used}, {"ALLOC", metric.Allocated}, {"FRAG", metric.Fragmented},
	{"CACHE", metric.Cached}, {"OTHER", metric.Other}, {"FLUSH", metric.Returnable},
}

// processes returns a line for each row, the largest first, unknown sizes last.
func (t *table) processes() grid {
	g := grid{columns: []column{
		{"GPU", true, 3}, {"PID", true, 7}, {"USER", false, 8}, {"TYPE", false, 4}, {"RUNTIME", false, 7},
	}}
	for _, c := range processMetrics {
		g.columns = append(g.columns, column{c.title, true, 5})
	}
	g.columns = append(g.columns, column{"JOB", false, 5}, column{"+60s", true, 5}, column{"COMMAND", false, 0})
	rows := make([]*snapshot.Process, len(t.snap.Rows))
	for i := range t.snap.Rows {
		rows[i] = &t.snap.Rows[i]
	}
	sorted.Stable(rows, bySize)
	jobs, forecast := false, false
	for _, p := range rows {
		row := []string{
			t.placeOf(p), strconv.Itoa(p.ID.Process.PID), oneWord(cmp.Or(p.User, "?")),
			t.word(p.Type), t.word(p.Runtime),
		}
		for _, c := range processMetrics {
			row = append(row, t.metric(p, c.id))
		}
		inAMinute := t.signs.Dash
		if i := slices.IndexFunc(p.Predicted, func(f snapshot.Prediction) bool { return f.Horizon == time.Minute }); i >= 0 {
			inAMinute, forecast = p.Predicted[i].Median.String(), true
		}
		jobs = jobs || p.Job.Kind != ""
		g.rows = append(g.rows, append(row, cmp.Or(text.Clean(p.Job.String()), t.signs.Dash), inAMinute, cell.ShortCommand(p)))
	}
	if !jobs {
		g.drop("JOB")
	}
	if !forecast {
		g.drop("+60s")
	}
	return g
}

// bySize orders by used memory, the largest first, then by GPU, PID and start time.
func bySize(a, b *snapshot.Process) int {
	return cmp.Or(
		cmp.Compare(b.Used.Or(-1), a.Used.Or(-1)),
		cmp.Compare(a.GPU, b.GPU),
		cmp.Compare(a.ID.Process.PID, b.ID.Process.PID),
		cmp.Compare(a.ID.Process.StartTime, b.ID.Process.StartTime))
}
