package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/sampler/snapshot"
)

// Look implements Source. It first chooses the lines that the engine ranks highest and those with a
// problem, and then asks for their figures.
func (p *Prometheus) Look(ctx context.Context, q Query) (*Picture, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	a, err := p.discover(ctx, q)
	if err != nil {
		return nil, err
	}
	if a.query.Unit.OfProcesses() {
		return p.shares(ctx, a)
	}
	if a.query.Unit == Fitting {
		if a.query.Unit, err = p.fitting(ctx, a); err != nil {
			return nil, err
		}
	}
	queries := a.problems()
	const ranking = "ranking"
	queries[ranking] = a.ranked()
	answers, failed := p.askAll(ctx, queries)
	if err := failed[ranking]; err != nil {
		return nil, err
	}
	c := &choice{unit: a.query.Unit, lines: map[string]*Line{}}
	c.take(answers)
	for _, s := range answers[ranking] {
		if q.Sort != ByWorst || len(c.lines) < q.Lines { // lines with a problem come first
			c.line(&s)
		}
	}
	_, asked := queries["idle"]
	c.allIdle = asked && failed["idle"] == nil && len(answers["idle"]) < q.Lines
	if err := p.fill(ctx, a, c); err != nil {
		return nil, err
	}
	pic := &Picture{Time: p.engineTime(), Unit: a.query.Unit, Simulated: a.simulated, Queries: a.queries(), Problems: slices.Concat(problemsOf(failed), c.problems, p.warnings())}
	if n := len(answers["down"]); failed["down"] == nil && n < q.Lines {
		pic.Down = quantity.From(n, quantity.Computed)
	}
	for _, l := range c.lines {
		// Only the name of a box without figures can match.
		if q.Filter.state(l) && (l.State == OK || q.Filter.matches(l.Name(), nil)) {
			pic.Lines = append(pic.Lines, *l)
		}
	}
	pic.Lines = once(pic.Lines)
	return pic, nil
}

// fitting returns GPUs if all GPUs that the filter lets through fit in view, else Boxes. If the boxes
// do not fit, it does not count GPUs, which takes an engine longer.
func (p *Prometheus) fitting(ctx context.Context, a *asking) (Unit, error) {
	for _, query := range []string{"count(" + a.filtered(a.up(), "instance") + ")", "count(" + a.wanted(total) + ")"} {
		n, err := p.ask(ctx, query, time.Time{})
		if err != nil {
			return Fitting, err
		}
		if len(n) > 0 && int(n[0].value) > a.query.Fit {
			return Boxes, nil
		}
	}
	return GPUs, nil
}

// once keeps one line of a GPU that two exporters report, or that is scraped twice.
func once(lines []Line) []Line {
	sorted.Stable(lines, func(a, b Line) int { return cmp.Or(cmp.Compare(a.GPU.UUID, b.GPU.UUID), cmp.Compare(a.Box, b.Box)) })
	return slices.CompactFunc(lines, func(a, b Line) bool { return a.GPU.UUID != "" && a.GPU.UUID == b.GPU.UUID })
}

// choice holds the lines that are shown.
type choice struct {
	unit     Unit
	lines    map[string]*Line
	problems []string
	allIdle  bool     // the engine named every line that has idle GPUs, so the others have none
	old      []series // boxes whose last sample is old, with the sample's age
}

// line finds or adds the line of a box, or of one of its GPUs.
func (c *choice) line(s *series) *Line {
	box, uuid := s.label("instance"), s.label("uuid")
	if c.unit == Boxes {
		uuid = ""
	}
	return c.at(box, uuid)
}

func (c *choice) at(box, uuid string) *Line {
	made := &Line{Box: box, GPU: snapshot.GPU{Index: -1, UUID: uuid, State: snapshot.GPUOK}}
	if l, ok := c.lines[made.Key()]; ok {
		return l
	}
	c.lines[made.Key()] = made
	return made
}

func (c *choice) take(answers map[field][]series) {
	for _, s := range answers["alert"] {
		severity := snapshot.Notice
		if s.value >= 2 {
			severity = snapshot.Urgent
		}
		c.line(&s).worse(snapshot.AlertKind(s.label("kind")), severity)
	}
	for _, s := range answers["state"] {
		if l := c.line(&s); c.unit == GPUs {
			l.GPU.State = snapshot.GPUState(s.label("state"))
		} else {
			l.worse(snapshot.AlertLost, snapshot.Notice) // one of the box's GPUs
		}
	}
	for _, s := range answers["idle"] {
		c.line(&s).Idle = quantity.From(int(s.value), quantity.Computed)
	}
	for _, s := range answers["down"] {
		l := c.at(s.label("instance"), "")
		l.State, l.Why = Down, "the engine cannot scrape it"
	}
	c.old = answers["old"]
}

// judge decides for boxes with an old last sample whether they have stopped, their clock differs, or
// they sample rarely.
func (c *choice) judge(goOn, intervals []series) {
	differ := 0
	for i := range c.old {
		box := c.old[i].label("instance")
		if slices.ContainsFunc(intervals, func(s series) bool { return s.label("instance") == box && c.old[i].value < missed*s.value }) {
			continue
		}
		if slices.ContainsFunc(goOn, func(s series) bool { return s.label("instance") == box }) {
			if differ++; differ <= 3 {
				l := &Line{Box: box}
				c.problems = append(c.problems, fmt.Sprintf("the clock of %s differs from the engine's", l.Name()))
			}
			continue
		}
		maps.DeleteFunc(c.lines, func(_ string, l *Line) bool { return l.Box == box }) // their figures are out of date
		l := c.at(box, "")
		l.State, l.Why = Stopped, "its figures are "+quantity.BriefDuration(time.Duration(c.old[i].value)*time.Second)+" old"
	}
}

func (c *choice) stopped(box string) bool {
	l := c.lines[(&Line{Box: box}).Key()]
	return l != nil && l.State == Stopped
}

func (p *Prometheus) fill(ctx context.Context, a *asking, c *choice) error {
	var instances, uuids []string
	for _, l := range c.lines {
		if l.State != Down {
			instances = append(instances, l.Box)
			if l.GPU.UUID != "" {
				uuids = append(uuids, l.GPU.UUID)
			}
		}
	}
	queries := map[field]string{}
	if len(c.old) > 0 {
		boxes := instancesOf(c.old)
		queries["moving"], queries["interval"] = moving(boxes), intervals(boxes)
	}
	slices.Sort(instances)
	instances = slices.Compact(instances)
	if len(instances) > 0 && (c.unit == Boxes || len(uuids) > 0) {
		queries["details"] = a.details(instances, uuids)
		if c.unit == GPUs && a.exporters[0].people {
			queries["owners"] = a.owners(instances, uuids)
		}
	}
	answers, failed := p.askAll(ctx, queries)
	if err := failed["details"]; err != nil {
		return err
	}
	if failed["moving"] == nil {
		c.judge(answers["moving"], answers["interval"])
	}
	c.problems = append(c.problems, problemsOf(failed)...)
	figures := map[*Line]map[field]float64{}
	for _, s := range answers["details"] {
		m := field(s.label("m"))
		if c.stopped(s.label("instance")) && (c.unit == GPUs || m != "info") {
			continue
		}
		l := c.line(&s)
		if m == "info" {
			l.name(&s)
			continue
		}
		if figures[l] == nil {
			figures[l] = map[field]float64{}
		}
		figures[l][m] = s.value
	}
	for l, values := range figures {
		l.fill(values)
		if c.allIdle && !l.Idle.Known() && l.GPU.Utilization.Known() {
			l.Idle = quantity.From(0, quantity.Computed)
		}
	}
	for _, s := range answers["owners"] {
		if !c.stopped(s.label("instance")) {
			l := c.line(&s)
			l.User, l.Program, l.Job = s.label("user"), s.label("name"), s.label("hpc_job")
		}
	}
	return nil
}

func (l *Line) name(s *series) {
	l.GPU.Name, l.Host = s.label("name"), s.label("host")
	if i, err := strconv.Atoi(s.label("gpu")); err == nil && i >= 0 {
		l.GPU.Index = i
	}
}

func (l *Line) fill(values map[field]float64) {
	g := &l.GPU
	g.Memory = memoryOf(values)
	g.Parts = partsOf(g.Memory.Used, amount(values, allocated), amount(values, cached), amount(values, fragmented), amount(values, returnable))
	g.Utilization, g.Temperature, g.TemperatureSlowdown = whole(values, utilization, 100), whole(values, temperature, 1), whole(values, slowdown, 1)
	g.Power, g.PowerLimit = number(values, power), number(values, powerLimit)
	g.FullIn = fullInOf(values)
	l.GPUs = 1
	if n, ok := values[count]; ok {
		l.GPUs = int(n)
	}
}

func memoryOf(values map[field]float64) snapshot.Memory {
	return snapshot.Memory{Used: amount(values, used), Total: amount(values, total), Free: amount(values, free), Reserved: amount(values, reserved)}
}

// maxMemory is more memory than a fleet has; a larger value is invalid.
const maxMemory = 1 << 60

func number(values map[field]float64, f field) snapshot.Float {
	v, ok := values[f]
	if !ok || !(v >= 0 && v < maxMemory) { // NaN, too
		return snapshot.Float{}
	}
	return quantity.From(v, quantity.Driver)
}

func amount(values map[field]float64, f field) snapshot.Bytes {
	return quantity.As[quantity.Bytes](number(values, f))
}

func whole(values map[field]float64, f field, scale float64) snapshot.Int {
	v := number(values, f)
	return quantity.From(int(v.Or(0)*scale+.5), v.Source())
}

func fullInOf(values map[field]float64) *snapshot.FullIn {
	seconds := func(f field) time.Duration {
		v := number(values, f).Or(0)
		return time.Duration(min(v, 1e9) * float64(time.Second))
	}
	if !number(values, fullIn).Known() {
		return nil
	}
	return &snapshot.FullIn{Median: seconds(fullIn), Earliest: seconds(earliest), Latest: seconds(latest)}
}
