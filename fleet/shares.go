package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// The memory of users and jobs is that of their own processes. The GPUs on which these processes run
// contribute only their count, utilization and capacity.

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

// held returns a figure of the processes that pass the filter and these matchers. A GPU that is
// scraped twice counts once.
func (a *asking) held(f field, matchers string) string {
	return fmt.Sprintf("max by (uuid,user,hpc_job) (%s)", a.heldByBox(f, matchers))
}

// heldByBox returns the figure of held by box.
func (a *asking) heldByBox(f field, matchers string) string {
	matchers = a.people() + more(a.within) + more(matchers)
	s := a.processes(f, matchers)
	for _, t := range a.query.Filter.terms(Anywhere, InHost) {
		hosts, _ := a.matching(Term{InHost, t.Word})
		set := fmt.Sprintf("(%s) and on (instance) (%s)", s, strings.Join(hosts, " or "))
		if t.Field == Anywhere {
			for _, field := range []Field{InUser, InJob} {
				set += " or " + a.processes(f, matchers+","+personLabels[field]+"=~"+containing(t.Word))
			}
		}
		s = "(" + set + ")"
	}
	return s
}

var personLabels = map[Field]string{InUser: "user", InJob: "hpc_job"}

// people returns matchers for the users and jobs that the filter names.
func (a *asking) people() (matchers string) {
	for _, t := range a.query.Filter.terms(InUser, InJob) {
		matchers += "," + personLabels[t.Field] + "=~" + containing(t.Word)
	}
	return matchers
}

// processes returns a figure by byProcess: the recorded series, or the rule's expression.
func (a *asking) processes(f field, matchers string) string {
	matchers = strings.TrimPrefix(matchers, ",")
	name := metric.Table[parts[f]].ExportedAs(metric.Process)
	if a.recorded {
		return fmt.Sprintf("gpu_user_job:%s:sum{%s}", name, matchers) // all callers aggregate
	}
	return fmt.Sprintf(`sum by (%[1]s) (max by (instance,uuid,pid,mig) (%[2]s{pid!=""%[5]s}) * on (instance,uuid,pid,mig) group_left (user,hpc_job) max by (instance,uuid,pid,mig,user,hpc_job) (%[3]s{%[4]s}) or max by (%[1]s,mig) (%[2]s{pid=""%[6]s}))`,
		byProcess, name, exported(metric.ProcessInfo), matchers, more(a.within), more(matchers))
}

// idle returns the used memory, more than a GiB, of each GPU that has run nothing for five minutes or,
// with other exporters, that runs nothing now.
func (a *asking) idle() string {
	var each []string
	for i, e := range a.exporters {
		held, busy := e.expression(used, a.within, byGPU), e.expression(utilization, a.within, byGPU)
		switch {
		case e.people && a.recorded:
			each = append(each, fmt.Sprintf("max by (%s) (%s{%s})", byGPU, recordedIdle, a.within))
			continue
		case e.people:
			busy = fmt.Sprintf("max by (%s) (max_over_time(%s{%s}[5m]))", byGPU, exportedName(metric.Utilization), a.within)
		}
		s := fmt.Sprintf("(%s > 2 ^ 30 and %s == 0", held, busy)
		for _, before := range a.exporters[:i] { // a GPU's figure comes from its first exporter
			s += " unless on (uuid) " + before.expression(used, a.within, "uuid")
		}
		each = append(each, s+")")
	}
	return "(" + strings.Join(each, " or on (uuid) ") + ")"
}

// The series of users and jobs in contrib/prometheus/rules.yml.
var (
	recordedOfUsers = map[field]string{
		used: "vramscope_process_memory_used_bytes:sum", allocated: "vramscope_process_memory_allocated_bytes:sum", cached: "vramscope_process_memory_cached_bytes:sum",
		fragmented: "vramscope_process_memory_fragmented_bytes:sum", returnable: "vramscope_process_memory_returnable_bytes:sum",
		count: "vramscope_gpus:count", idle: "vramscope_idle_gpus:count", idleMemory: "vramscope_idle_memory_bytes:sum", boxes: "vramscope_boxes:count", jobs: "vramscope_jobs:count",
		total: "vramscope_gpu_memory_total_bytes:sum", reserved: "vramscope_gpu_memory_reserved_bytes:sum", utilization: "vramscope_gpu_utilization_ratio:avg",
	}
	recordedOfJobs = map[field]string{used: recordedOfUsers[used], returnable: recordedOfUsers[returnable], idleMemory: recordedOfUsers[idleMemory]}
)

// shared returns the query for a figure of users or jobs. It uses the recorded series if there is one
// and the filter leaves out no part of a user or job. Otherwise it sums over the processes, counts, or
// aggregates the figures of the GPUs in use.
func (a *asking) shared(f field, matchers string) string {
	by, level, names, parting := "user", "user", recordedOfUsers, []Field{Anywhere, InHost, InJob}
	if a.query.Unit == Jobs {
		by, level, names, parting = "user,hpc_job", "user_job", recordedOfJobs, parting[:2]
	}
	if name := names[f]; name != "" && a.summed && len(a.query.Filter.terms(parting...)) == 0 {
		return fmt.Sprintf("%s:%s{%s}", level, name, strings.TrimPrefix(a.people()+more(matchers), ","))
	}
	if _, ok := parts[f]; ok {
		return fmt.Sprintf("sum by (%s) (%s)", by, a.held(f, matchers))
	}
	each := func(label, matchers string) string {
		return fmt.Sprintf("group by (%s,%s) (%s)", by, label, a.heldByBox(used, matchers))
	}
	how, s := "count", each("uuid", matchers)
	switch f {
	case count:
	case boxes:
		s = each("instance", matchers)
	case jobs:
		s = each("hpc_job", `hpc_job!=""`+more(matchers))
	default:
		how = cmp.Or(aggregation[f], "sum")
		figure := a.each(f, nil, "uuid")
		if f == idle || f == idleMemory {
			figure = "max by (uuid) (" + a.idle() + ")"
		}
		s += " * on (uuid) group_left () (" + figure + ")"
	}
	return fmt.Sprintf("%s by (%s) (%s)", how, by, s)
}

// narrowTo restricts all further queries to the GPUs of the chosen jobs or, if these are too many, to their boxes.
func (p *Prometheus) narrowTo(ctx context.Context, a *asking, lines map[string]*Line, chosen string) error {
	on, err := p.ask(ctx, fmt.Sprintf(`group by (instance,uuid,user,hpc_job) (%s{%s} or %s{%[2]s,pid=""})`, exported(metric.ProcessInfo), chosen+a.people()+more(a.within), metric.Table[metric.Used].ExportedAs(metric.Process)), time.Time{})
	for _, label := range []string{"uuid", "instance"} {
		var values []string
		for i := range on {
			if lines[shareOf(&on[i]).Key()] != nil { // another user's job may have its ID
				values = append(values, on[i].label(label))
			}
		}
		slices.Sort(values)
		if values = slices.Compact(values); len(values) <= fewest {
			a.within = strings.TrimPrefix(a.within+","+oneOf(label, values), ",")
			break
		}
	}
	return err
}

func shareOf(s *series) *Line {
	return &Line{User: s.label("user"), Job: s.label("hpc_job"), GPU: snapshot.GPU{Index: -1}}
}

// shares implements Look for users and jobs.
func (p *Prometheus) shares(ctx context.Context, a *asking) (*Picture, error) {
	pic := &Picture{Unit: a.query.Unit, Simulated: a.simulated, Queries: a.queries()}
	if !a.exporters[0].people {
		pic.Time, pic.Problems = p.now(), []string{"no exporter here names users and jobs: vramscope daemon --serve does"}
		return pic, nil
	}
	label, order := map[Unit]string{Users: "user", Jobs: "hpc_job"}[a.query.Unit], used
	if a.query.Sort == ByCached {
		order = returnable
	}
	rankings := map[field]string{order: a.top(a.shared(order, ""))}
	if a.query.Sort == ByWorst {
		rankings[idleMemory] = a.top(a.shared(idleMemory, ""))
	}
	ranked, failed := p.askAll(ctx, rankings)
	err := failed[order]
	if err != nil {
		return nil, err
	}
	if a.query.Filter.ByState() {
		pic.Problems = append(pic.Problems, "state= says nothing of users and jobs")
	}
	lines, names := map[string]*Line{}, []string{}
	for _, s := range slices.Concat(ranked[idleMemory], ranked[order]) {
		if l := shareOf(&s); lines[l.Key()] == nil && len(lines) < a.query.Lines {
			lines[l.Key()] = l
			names = append(names, s.label(label))
		}
	}
	queries, chosen := map[field]string{}, oneOf(label, names)
	if len(names) > 0 {
		if a.query.Unit == Jobs {
			err = p.narrowTo(ctx, a, lines, chosen)
		}
		for _, f := range []field{count, idle, boxes, jobs, total, reserved, utilization, used, allocated, cached, fragmented, returnable} {
			queries[f] = a.shared(f, chosen)
		}
	}
	if err != nil {
		return nil, err
	}
	answers, missing := p.askAll(ctx, queries)
	pic.Time, pic.Problems = p.engineTime(), slices.Concat(pic.Problems, problemsOf(failed), problemsOf(missing), p.warnings())
	figures := map[string]map[field]float64{}
	for key := range lines {
		figures[key] = map[field]float64{}
	}
	for f, list := range answers {
		for i := range list {
			if values := figures[shareOf(&list[i]).Key()]; values != nil {
				values[f] = list[i].value
			}
		}
	}
	for key, l := range lines {
		values := figures[key]
		l.fill(values)
		counted := func(f field) snapshot.Int { return counted(values, f, missing[f]) }
		l.GPUs, l.Idle, l.Boxes, l.Jobs = counted(count).Or(0), counted(idle), counted(boxes), counted(jobs)
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
		counted := map[string]int{} // how often once was called for each user, job or GPU
		once := func(what string) int {
			if counted[what]++; counted[what] > 1 {
				return 0
			}
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
			key := made.Key()
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

// idleGPU returns 1 if a GPU holds more than a GiB and runs nothing, else 0; unknown without used memory or utilization.
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
