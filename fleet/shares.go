package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// The memory of users and jobs is that of their own processes. From the GPUs on which these run
// only the count, the utilization and the capacity are taken.

// The series of rules in contrib/prometheus/rules.yml.
const (
	recordedShare    = "instance:vramscope_memory_used:share"
	recordedIdle     = "gpu:vramscope_idle_memory_bytes:max"
	recordedIdleGPUs = "instance:vramscope_idle_gpus:count"
)

// byProcess are the labels by which the processes of a user and job on a GPU are summed.
const byProcess = "instance,uuid,user,hpc_job"

// parts are the figures of processes.
var parts = map[field]metric.ID{
	used: metric.Used, allocated: metric.Allocated, cached: metric.Cached, fragmented: metric.Fragmented, returnable: metric.Returnable,
}

// held is a figure of the processes that the filter and more matchers let through. A GPU that is
// scraped twice counts once.
func (a *asking) held(f field, matchers string) string {
	return fmt.Sprintf("max by (uuid,user,hpc_job) (%s)", a.theirs(f, matchers))
}

// theirs is held, by box.
func (a *asking) theirs(f field, matchers string) string {
	matchers += more(a.within)
	for _, t := range a.query.Filter {
		switch t.Field {
		case InUser:
			matchers += ",user=~" + containing(t.Word)
		case InJob:
			matchers += ",hpc_job=~" + containing(t.Word)
		}
	}
	s := a.processes(f, matchers)
	for _, t := range a.query.Filter.of(Anywhere, InHost) {
		hosts, _ := a.matching(Term{InHost, t.Word})
		set := fmt.Sprintf("(%s) and on (instance) (%s)", s, strings.Join(hosts, " or "))
		if t.Field == Anywhere {
			for _, label := range []string{"user", "hpc_job"} {
				set += " or " + a.processes(f, matchers+","+label+"=~"+containing(t.Word))
			}
		}
		s = "(" + set + ")"
	}
	return s
}

// processes is a figure by byProcess: the recorded series, or the rule's expression.
func (a *asking) processes(f field, matchers string) string {
	matchers = strings.TrimPrefix(matchers, ",")
	name := metric.Table[parts[f]].ExportedAs(metric.Process)
	if a.recorded {
		return fmt.Sprintf("gpu_user_job:%s:sum{%s}", name, matchers) // all callers aggregate
	}
	return fmt.Sprintf(`sum by (%[1]s) (max by (instance,uuid,pid,mig) (%[2]s{pid!=""%[5]s}) * on (instance,uuid,pid,mig) group_left (user,hpc_job) max by (instance,uuid,pid,mig,user,hpc_job) (%[3]s{%[4]s}) or max by (%[1]s,mig) (%[2]s{pid=""%[6]s}))`,
		byProcess, name, exported(metric.ProcessInfo), matchers, more(a.within), more(matchers))
}

// idle is the used memory of the GPUs that hold some and have run nothing for five minutes; for
// other exporters, that run nothing now.
func (a *asking) idle() string {
	var each []string
	for _, e := range a.exporters {
		used, busy := e.expression(used, a.within, byGPU), e.expression(utilization, a.within, byGPU)
		switch {
		case e.people && a.recorded:
			each = append(each, fmt.Sprintf("max by (%s) (%s{%s})", byGPU, recordedIdle, a.within))
			continue
		case e.people:
			busy = fmt.Sprintf("max by (%s) (max_over_time(%s{%s}[5m]))", byGPU, own(metric.Utilization), a.within)
		}
		each = append(each, fmt.Sprintf("(%s > 2 ^ 30 and %s == 0)", used, busy))
	}
	return "(" + strings.Join(each, " or on (uuid) ") + ")"
}

// errNobody is the problem of a view of users or jobs if no exporter names them.
const errNobody = "no exporter here names users and jobs: vramscope daemon --serve does"

// shares implements Look for users and jobs: it first chooses the lines, then asks for their
// figures.
func (p *Prometheus) shares(ctx context.Context, a *asking) (*Picture, error) {
	pic := &Picture{Unit: a.query.Unit, Simulated: a.simulated, Queries: a.queries()}
	if !a.exporters[0].people {
		pic.Time, pic.Problems = p.now(), []string{errNobody}
		return pic, nil
	}
	by, label := "user", "user"
	if a.query.Unit == Jobs {
		by, label = "user,hpc_job", "hpc_job"
	}
	order := used
	if a.query.Sort == ByCached {
		order = returnable
	}
	idle := func(matchers string) string {
		return fmt.Sprintf(`group by (%s,uuid) (%s) * on (uuid) group_left () max by (uuid) (%s)`, by, a.theirs(used, matchers), a.idle())
	}
	answers, failed := p.askAll(ctx, map[field]string{"most": a.top(fmt.Sprintf("sum by (%s) (%s)", by, a.held(order, ""))), "idle": a.top("sum by (" + by + ") (" + idle("") + ")")})
	if a.query.Filter.ByState() {
		pic.Problems = append(pic.Problems, "state= says nothing of users and jobs")
	}
	if err := failed["most"]; err != nil {
		return nil, err
	}
	lines, names := map[string]*Line{}, []string{}
	at := func(s *series) *Line {
		made := &Line{User: s.label("user"), Job: s.label("hpc_job"), GPU: snapshot.GPU{Index: -1}}
		if lines[made.key()] == nil {
			lines[made.key()] = made
			names = append(names, s.label(label))
		}
		return lines[made.key()]
	}
	for _, list := range [][]series{answers["most"], answers["idle"]} {
		for i := range list {
			at(&list[i])
		}
	}
	chosen := oneOf(label, names)
	on := func(f field) string {
		return fmt.Sprintf("group by (%s,uuid) (%s) * on (uuid) group_left () (%s)", by, a.theirs(used, chosen), a.each(f, nil, "uuid"))
	}
	queries := map[field]string{
		count:       fmt.Sprintf("count by (%s) (group by (%[1]s,uuid) (%s))", by, a.theirs(used, chosen)),
		"idle":      fmt.Sprintf("count by (%s) (%s)", by, idle(chosen)),
		total:       fmt.Sprintf("sum by (%s) (%s)", by, on(total)),
		reserved:    fmt.Sprintf("sum by (%s) (%s)", by, on(reserved)),
		utilization: fmt.Sprintf("avg by (%s) (%s)", by, on(utilization)),
		"boxes":     fmt.Sprintf("count by (%s) (group by (%[1]s,instance) (%s))", by, a.theirs(used, chosen)),
		"jobs":      fmt.Sprintf(`count by (%s) (group by (%[1]s,hpc_job) (%s))`, by, a.theirs(used, chosen+`,hpc_job!=""`)),
	}
	for f := range parts {
		queries[f] = fmt.Sprintf("sum by (%s) (%s)", by, a.held(f, chosen))
	}
	if len(names) == 0 {
		queries = nil
	}
	answers, figuresFailed := p.askAll(ctx, queries)
	pic.Time, pic.Problems = p.engineTime(), slices.Concat(pic.Problems, problemsOf(failed), problemsOf(figuresFailed), p.warnings())
	figures := map[*Line]map[field]float64{}
	for f, list := range answers {
		for i := range list {
			made := Line{User: list[i].label("user"), Job: list[i].label("hpc_job")}
			if l := lines[made.key()]; l != nil {
				if figures[l] == nil {
					figures[l] = map[field]float64{}
				}
				figures[l][f] = list[i].value
			}
		}
	}
	for _, l := range lines {
		values := figures[l]
		l.fill(values)
		counted := func(f field) snapshot.Int { return counted(values, f, figuresFailed[f]) }
		l.GPUs, l.Idle, l.Boxes, l.Jobs = counted(count).Or(0), counted("idle"), counted("boxes"), counted("jobs")
		if !l.GPU.Utilization.Known() {
			l.Idle = snapshot.Int{}
		}
		pic.Lines = append(pic.Lines, *l)
	}
	return pic, nil
}

// shares returns the users or jobs of the boxes that are asked over ssh.
func (s *SSH) shares(q Query) []Line {
	lines := map[string]*Line{}
	for _, b := range s.boxes {
		box, snap := b.line(s.now())
		if snap == nil {
			continue
		}
		counted := map[string]bool{} // what of the box
		once := func(what string) int {
			if counted[what] {
				return 0
			}
			counted[what] = true
			return 1
		}
		add := func(to *snapshot.Int, n int) { *to = quantity.From(to.Or(0)+n, quantity.Computed) }
		for i := range snap.Rows {
			row := &snap.Rows[i]
			g := snap.GPU(row.ID.GPUUUID)
			if g == nil || !q.Filter.matches(box.Name(), snap.Rows[i:i+1]) {
				continue
			}
			made := &Line{User: row.User, GPU: snapshot.GPU{Index: -1}}
			if q.Unit == Jobs {
				made.Job = row.Job.ID
			}
			key := made.key()
			if lines[key] == nil {
				lines[key] = made
			}
			l := lines[key]
			own := snapshot.GPU{Memory: snapshot.Memory{Used: row.Used}, Parts: partsOf(row.Used, row.Allocated, row.Cached, row.Fragmented, row.Returnable)}
			sum(&l.GPU, &own)
			add(&l.Boxes, once(key))
			add(&l.Jobs, min(len(row.Job.ID), once("job\x00"+row.User+"\x00"+row.Job.ID)))
			if once(key+"\x00"+g.UUID) == 1 {
				l.GPUs++
				l.GPU.Memory.Total, l.GPU.Memory.Reserved = quantity.Sum(l.GPU.Memory.Total, g.Memory.Total), quantity.Sum(l.GPU.Memory.Reserved, g.Memory.Reserved)
				if n, known := idleGPU(g).Value(); known {
					add(&l.Idle, n)
				}
			}
		}
	}
	var all []Line
	for _, l := range lines {
		all = append(all, *l)
	}
	return all
}

// idleGPU is 1 if a GPU holds memory and runs nothing, else 0.
func idleGPU(g *snapshot.GPU) snapshot.Int {
	busy, known := g.Utilization.Value()
	held, knownToo := g.Memory.Used.Value()
	switch {
	case !known || !knownToo:
		return snapshot.Int{}
	case busy == 0 && held > quantity.GiB:
		return quantity.From(1, quantity.Computed)
	}
	return quantity.From(0, quantity.Computed)
}
