package render

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"vramscope/fleet"
	"vramscope/headroom"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
	"vramscope/ui/cell"
)

// FleetTable returns the fleet as text. Only cells of the last column contain blanks.
func FleetTable(pic *fleet.Picture, t *fleet.Totals, filter fleet.Filter, signs Signs, width int) string {
	g := grid{columns: []column{{"BOX", false, 8}, {"GPU", true, 3}, {"USED", true, 5}, {"TOTAL", true, 5}, {"FREE", true, 5}, {"ALLOC", true, 5}, {"FLUSH", true, 5}, {"UTIL", true, 4}, {"STATE", false, 5}, {"NOTE", false, 0}}}
	for i := range pic.Lines {
		l := &pic.Lines[i]
		gpu := signs.Dash
		if l.GPU.Index >= 0 {
			gpu = strconv.Itoa(l.GPU.Index)
		} else if l.GPUs > 0 && l.GPU.UUID == "" {
			gpu = strconv.Itoa(l.GPUs) + "x"
		}
		g.rows = append(g.rows, []string{
			oneWord(l.Name()), gpu, signs.Bytes(l.GPU.Memory.Used), signs.Bytes(l.GPU.Memory.Total), signs.Bytes(l.GPU.Memory.Free),
			signs.Bytes(l.GPU.Parts.Allocated), signs.Bytes(l.GPU.Parts.Returnable), string(cell.AppendPercent(nil, l.GPU.Utilization, signs.Dash)),
			l.StateWord(), fleetNote(l),
		})
	}
	if pic.Unit.OfProcesses() {
		g = shareGrid(pic, signs)
	}
	lines := append(simulated(pic.Simulated), fleetSums(t, signs), "")
	switch {
	case len(g.rows) > 0:
		lines = append(lines, g.lines()...)
	case len(filter) > 0:
		lines = append(lines, "nothing matches --filter "+text.Clean(filter.String()))
	default:
		lines = append(lines, "no GPU")
	}
	if pic.Queries == fleet.Raw && pic.Unit.OfProcesses() {
		lines = append(lines, "", "by raw queries: the engine lacks the rules of contrib/prometheus/rules.yml")
	}
	return cutLines(marked(lines, "! ", pic.Problems, signs), width, signs.Ellipsis)
}

// shareGrid returns the table of the memory that users or jobs use.
func shareGrid(pic *fleet.Picture, signs Signs) grid {
	g := grid{columns: []column{{"USER", false, 8}, {"JOBS", true, 4}, {"BOXES", true, 5}, {"GPUS", true, 4}, {"IDLE", true, 4}, {"USED", true, 5}, {"ALLOC", true, 5}, {"FLUSH", true, 5}, {"UTIL", true, 4}}}
	if pic.Unit == fleet.Jobs {
		g.columns[0].title, g.columns[1] = "JOB", column{"USER", false, 8}
	}
	number := func(n snapshot.Int) string {
		if v, ok := n.Value(); ok {
			return strconv.Itoa(v)
		}
		return signs.Dash
	}
	word := func(s string) string { return oneWord(cmp.Or(s, signs.Dash)) }
	for i := range pic.Lines {
		l := &pic.Lines[i]
		first, second := word(l.User), number(l.Jobs)
		if pic.Unit == fleet.Jobs {
			first, second = word(l.Job), word(l.User)
		}
		g.rows = append(g.rows, []string{first, second, number(l.Boxes), strconv.Itoa(l.GPUs), number(l.Idle), signs.Bytes(l.GPU.Memory.Used),
			signs.Bytes(l.GPU.Parts.Allocated), signs.Bytes(l.GPU.Parts.Returnable), string(cell.AppendPercent(nil, l.GPU.Utilization, signs.Dash))})
	}
	return g
}

// fleetSums returns the sums of the fleet in a sentence.
func fleetSums(t *fleet.Totals, signs Signs) string {
	boxes, gpus := signs.Dash+" boxes", signs.Dash+" GPUs"
	if n, ok := t.Boxes.Value(); ok {
		boxes = text.Plural(n, "box", "boxes")
	}
	if n, ok := t.GPUs.Value(); ok {
		gpus = text.Plural(n, "GPU", "GPUs")
	}
	used := "used"
	if t.Own {
		used = "used by the processes of the filter"
	}
	s := fmt.Sprintf("%s, %d down, %s: %s of %s %s", boxes, t.Down.Or(0), gpus, signs.Bytes(t.Memory.Used), signs.Bytes(t.Memory.Total), used)
	return s + fmt.Sprintf(", %s allocated, %s cached", signs.Bytes(t.Parts.Allocated), signs.Bytes(t.Parts.Returnable))
}

// fleetNote returns the worst problem of a line or, without one, its user and program.
func fleetNote(l *fleet.Line) string {
	switch {
	case l.State != fleet.OK:
		return text.Clean(l.Why)
	case l.Alert == snapshot.AlertFullIn && l.GPU.FullIn != nil:
		return l.GPU.FullIn.Brief()
	case l.Alert == "" && l.Idle.Or(0) > 0:
		return strings.TrimSpace(fmt.Sprintf("%d idle  %s", l.Idle.Or(0), text.Clean(l.User+" "+l.Program)))
	case l.Alert != "":
		return strings.ReplaceAll(text.Clean(string(l.Alert)), "_", " ")
	}
	return strings.TrimSpace(text.Clean(l.User + " " + l.Program))
}

func FleetDocument(name string, pic *fleet.Picture, t *fleet.Totals) schema.Fleet {
	return schema.Fleet{
		Schema: schema.FleetVersion, Time: schema.Time(pic.Time), Source: schema.Text(name), Simulated: pic.Simulated, View: strings.ToLower(pic.Unit.Word()), Queries: schema.Text(pic.Queries),
		Totals: schema.FleetTotals{Boxes: t.Boxes, BoxesDown: t.Down, GPUs: t.GPUs, Own: t.Own, Memory: schema.MemoryOf(t.Memory), AllocatedBytes: t.Parts.Allocated, FragmentedBytes: t.Parts.Fragmented, ReturnableBytes: t.Parts.Returnable},
		Lines:  schema.List(pic.Lines, fleetLine), Problems: schema.Texts(pic.Problems),
	}
}

func fleetLine(l *fleet.Line) schema.FleetLine {
	g := &l.GPU
	line := schema.FleetLine{
		Target: schema.Text(l.Box), UUID: schema.Text(g.UUID), Name: schema.Text(g.Name), GPUs: l.GPUs, State: l.StateWord(),
		Reason: schema.Text(l.Why), Memory: schema.MemoryOf(g.Memory), AllocatedBytes: g.Parts.Allocated, FragmentedBytes: g.Parts.Fragmented,
		ReturnableBytes: g.Parts.Returnable, UtilizationPercent: g.Utilization, TemperatureCelsius: g.Temperature, PowerWatts: g.Power,
		FullIn: schema.FullInOf(g.FullIn), Alert: schema.Text(l.Alert), User: schema.Text(l.User), Program: schema.Text(l.Program), Job: schema.Text(l.Job),
		Boxes: l.Boxes, Jobs: l.Jobs, IdleGPUs: l.Idle,
	}
	if l.Box != "" { // the line is neither a user's nor a job's
		line.Box = schema.Text(l.Name())
	}
	if g.Index >= 0 {
		line.GPU = &g.Index
	}
	if l.Alert != "" {
		line.Severity = schema.Text(schema.SeverityOf(l.Severity))
	}
	return line
}

// RoomTable returns the verdict and the boxes on which a job has room, or the nearest ones, as text.
func RoomTable(q *fleet.RoomQuery, r *fleet.Room, verdict headroom.Verdict, signs Signs, width int) string {
	what := fmt.Sprintf("%s on %s of one box", q.Need, text.Plural(q.Count, "GPU", "GPUs"))
	if q.Length > 0 {
		what += " for " + quantity.BriefDuration(q.Length)
	}
	sentence := map[headroom.Verdict]string{
		headroom.Yes: "yes: " + what, headroom.AfterFlush: "after a flush: " + what, headroom.No: "no: " + what, headroom.Unknown: "unknown: " + q.Unjudged(r),
	}[verdict]
	lines := append(simulated(r.Simulated), sentence)
	g := grid{columns: []column{{"BOX", false, 8}, {"GPUS", true, 4}, {"FITS", false, 5}}}
	for i, boxes := range [][]fleet.RoomyBox{r.Now, r.AfterFlush} {
		for _, b := range boxes {
			g.rows = append(g.rows, []string{oneWord(b.Name), strconv.Itoa(b.GPUs), [...]string{"yes", "flush"}[i]})
		}
	}
	if verdict == headroom.No {
		g.columns = []column{{"NEAREST", false, 8}, {"GPUS", true, 4}, {"MISSING", false, 0}}
		for _, b := range r.Nearest {
			g.rows = append(g.rows, []string{oneWord(b.Name), strconv.Itoa(b.GPUs), missing(&b, q.Count)})
		}
		if len(r.Nearest) == 0 && r.Largest < q.Count {
			lines = append(lines, fmt.Sprintf("no box has more than %s that can be judged", text.Plural(r.Largest, "GPU", "GPUs")))
		}
	}
	if len(g.rows) > 0 {
		lines = append(append(lines, ""), g.lines()...)
	}
	return cutLines(marked(lines, "! ", r.Problems, signs), width, signs.Ellipsis)
}

// missing says how much memory a box lacks for the job.
func missing(b *fleet.RoomyBox, count int) string {
	if short := count - b.GPUs; short > 1 {
		return fmt.Sprintf("up to %s on each of %d more GPUs, also after a flush", b.Short, short)
	}
	return fmt.Sprintf("%s on one more GPU, also after a flush", b.Short)
}

// RoomDocument returns the verdict and the boxes of RoomTable as a document.
func RoomDocument(name string, q *fleet.RoomQuery, r *fleet.Room, verdict headroom.Verdict) schema.FleetHeadroom {
	doc := schema.FleetHeadroom{
		Schema: schema.FleetVersion, Time: schema.Time(r.Time), Source: schema.Text(name), Simulated: r.Simulated, NeedBytes: q.Need, Count: q.Count,
		Answer: string(verdict), GPUsJudged: r.Judged, Boxes: []schema.FleetRoom{}, Problems: schema.Texts(r.Problems),
		Nearest: schema.List(r.Nearest, func(b *fleet.RoomyBox) schema.FleetNear {
			return schema.FleetNear{Box: schema.Text(b.Name), Target: schema.Text(b.Box), GPUs: b.GPUs, ShortBytes: b.Short}
		}),
	}
	if q.Length > 0 {
		doc.ForSeconds = new(q.Length.Seconds())
	}
	for i, boxes := range [][]fleet.RoomyBox{r.Now, r.AfterFlush} {
		for _, b := range boxes {
			doc.Boxes = append(doc.Boxes, schema.FleetRoom{Box: schema.Text(b.Name), Target: schema.Text(b.Box), GPUs: b.GPUs, Verdict: string([...]headroom.Verdict{headroom.Yes, headroom.AfterFlush}[i])})
		}
	}
	return doc
}
