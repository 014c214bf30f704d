package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"vramscope/metric"
)

// asking builds the queries of a look. Expressions for GPUs have the labels instance and uuid, those
// for boxes instance; in joined expressions the label m names the figure.
type asking struct {
	exporters []*exporter // the exporters that were found
	jobs      []string    // the names of the scrape jobs in Prometheus
	simulated bool        // some box is simulated
	recorded  bool        // the engine has the rules of contrib/prometheus/rules.yml
	summed    bool        // the rules' series cover all processes of a user or job
	query     Query
	within    string // matchers for the boxes or GPUs that the filter leaves, "" for all
}

// named joins expressions, each with its name in the label m.
func named(expressions map[field]string) string {
	var parts []string
	for f, s := range expressions {
		if s != "" {
			parts = append(parts, fmt.Sprintf(`label_replace(%s,"m","%s","","")`, s, f))
		}
	}
	return strings.Join(parts, " or ")
}

// The labels that identify a GPU to an engine.
const byGPU = "instance,uuid"

// each returns the query for a figure of all GPUs by some labels, from one exporter for each GPU.
func (a *asking) each(f field, matchers func(*exporter) string, by string) string {
	var parts []string
	for _, e := range a.exporters {
		m := a.within
		if matchers != nil {
			m = matchers(e)
		}
		if s := e.expression(f, m, by); s != "" {
			parts = append(parts, "("+s+")")
		}
	}
	return strings.Join(parts, " or on (uuid) ")
}

// wanted returns the query for a figure of the GPUs that the filter lets through.
func (a *asking) wanted(f field) string { return a.filtered(a.each(f, nil, byGPU), byGPU) }

// filtered restricts an expression, which has these labels, to what the filter lets through.
func (a *asking) filtered(s, labels string) string {
	if s == "" {
		return ""
	}
	for _, t := range a.query.Filter.named() {
		hosts, people := a.matching(t)
		host, person := strings.Join(hosts, " or "), strings.Join(people, " or ")
		on, set := "instance", strings.Join(slices.Concat(hosts, people), " or ")
		switch {
		case host == "":
			on = labels
		case person != "" && labels == byGPU:
			// All GPUs of a matching host, the host's figures without a GPU, and the GPUs with
			// matching processes.
			within := func(*exporter) string { return a.within }
			on, set = labels, fmt.Sprintf("(%[1]s) and on (instance) (%[2]s) or group by (instance) (%[2]s) or %[3]s", a.infos(within), host, person)
		}
		s = fmt.Sprintf("((%s) and on (%s) (%s))", s, on, set)
	}
	return s
}

func (a *asking) infos(matchers func(*exporter) string) string {
	infos := make([]string, len(a.exporters))
	for i, e := range a.exporters {
		infos[i] = e.info(matchers(e))
	}
	return strings.Join(infos, " or on (uuid) ")
}

// matching returns selectors for the series of the hosts and of the processes that a term matches.
func (a *asking) matching(t Term) (hosts, people []string) {
	if t.Field == Anywhere || t.Field == InHost {
		for _, e := range a.exporters {
			hosts = append(hosts, e.hosts(containing(t.Word)))
		}
	}
	for _, f := range []Field{InUser, InJob} {
		if t.Field == Anywhere || t.Field == f {
			people = append(people, fmt.Sprintf("%s{%s=~%s}", exported(metric.ProcessInfo), personLabels[f], containing(t.Word)))
		}
	}
	return hosts, people
}

// instances selects the boxes that match the filter. It returns "" if no term is for hosts or people.
func (a *asking) instances() string {
	var terms []string
	for _, t := range a.query.Filter.named() {
		hosts, people := a.matching(t)
		terms = append(terms, "group by (instance) ("+strings.Join(append(hosts, people...), " or ")+")")
	}
	return strings.Join(terms, " and ")
}

func (a *asking) up() string {
	return fmt.Sprintf("max by (instance) (up{%s})", oneOf("job", a.jobs)+more(a.within))
}

// down selects the boxes that do not answer. The filter can match only their names.
func (a *asking) down() string {
	matchers := oneOf("job", a.jobs)
	for _, t := range a.query.Filter.named() {
		if t.Field == InUser || t.Field == InJob {
			return ""
		}
		matchers += ",instance=~" + containing(t.Word)
	}
	return fmt.Sprintf("max by (instance) (up{%s}) == 0", matchers)
}

// boxes combines a figure of the GPUs by box.
func (a *asking) boxes(f field, matchers func(*exporter) string) string {
	s := a.each(f, matchers, byGPU)
	if s == "" {
		return ""
	}
	return cmp.Or(aggregation[f], "sum") + " by (instance) (" + s + ")"
}

// ranked selects the first lines in the query's order, by used share for ByWorst, with their figure.
func (a *asking) ranked() string {
	figure := a.wanted
	if a.query.Unit == Boxes {
		figure = func(f field) string { return a.filtered(a.boxes(f, nil), "instance") }
	}
	var s string
	switch a.query.Sort {
	case ByFree:
		s = figure(free)
	case ByCached:
		s = figure(returnable)
	case ByUtilization:
		s = figure(utilization)
	default:
		s = a.share(figure)
	}
	return a.top(s)
}

func (a *asking) share(figure func(field) string) string {
	recorded := map[Unit]string{GPUs: "max by (instance,uuid) (gpu:vramscope_memory_used:ratio{" + a.within + "})", Boxes: "max by (instance) (" + recordedShare + "{" + a.within + "})"}[a.query.Unit]
	if a.queries() == Recorded {
		return a.filtered(recorded, map[Unit]string{GPUs: byGPU, Boxes: "instance"}[a.query.Unit])
	}
	return "(" + figure(used) + ") / (" + figure(total) + ")"
}

// queries returns Recorded or Raw. The recording rules cover only the figures of vramscope's exporter.
func (a *asking) queries() string {
	if a.recorded && (len(a.exporters) == 1 || a.query.Unit.OfProcesses()) {
		return Recorded
	}
	return Raw
}

// top selects the greatest values of an expression, "" if the expression is empty.
func (a *asking) top(s string) string {
	if s == "" {
		return ""
	}
	return fmt.Sprintf("topk(%d, %s)", a.query.Lines, s)
}

// The figures of a box are old if its last sample is older than oldest seconds, and at least as old as
// missed sample intervals.
const oldest, missed = 60, 3

// problems selects alerts, states of GPUs, idle GPUs, boxes that are down, and old samples; at most
// Query.Lines of each.
func (a *asking) problems() map[field]string {
	by := byGPU
	if a.query.Unit == Boxes {
		by = "instance"
	}
	filter := func(s string) string { return a.filtered(s, by) }
	all := map[field]string{
		"alert": a.top(filter(fmt.Sprintf(`max by (%s,kind,severity) (%s{severity="urgent"%[3]s} * 2 or %[2]s{%[4]s})`, by, exported(metric.Alerts), more(a.within), a.within))),
		"state": a.top(filter(fmt.Sprintf(`max by (instance,uuid,gpu,state) (%s{state!="ok"%s} == 1)`, exported(metric.GPUState), more(a.within)))),
		"down":  a.top(a.down()),
		"old":   a.top(fmt.Sprintf("max by (instance) (abs(timestamp(%[1]s{%[2]s}) - %[1]s{%[2]s}) > %[3]d)", exported(metric.LastSample), a.within, oldest)),
	}
	if a.query.Sort == ByWorst || a.query.Filter.ByState() {
		all["idle"] = a.top(filter(a.idleBy(by)))
	}
	return all
}

// idleBy selects the GPUs that hold memory and run nothing, with the value 1, or their count by box.
func (a *asking) idleBy(by string) string {
	switch {
	case by == byGPU:
		return a.idle() + " * 0 + 1"
	case a.queries() == Recorded:
		return "max by (instance) (" + recordedIdleGPUs + "{" + a.within + "})"
	}
	return "count by (instance) (" + a.idle() + ")"
}

// moving selects the boxes whose figures change. If their samples look old, their clock is wrong.
func moving(instances []string) string {
	return fmt.Sprintf("max by (instance) (changes(%s{%s}[2m]) > 0)", exported(metric.LastSample), oneOf("instance", instances))
}

func intervals(instances []string) string {
	return fmt.Sprintf("max by (instance) (%s{%s})", exported(metric.SampleInterval), oneOf("instance", instances))
}

func (a *asking) details(instances, uuids []string) string {
	matchers := func(e *exporter) string {
		m := oneOf("instance", instances)
		if a.query.Unit == GPUs {
			ids := uuids
			if e.used == exporters[2].used {
				ids = nil
				for _, id := range uuids {
					ids = append(ids, strings.TrimPrefix(id, "GPU-"), id)
				}
			}
			m += "," + oneOf(e.uuid, ids)
		}
		return m
	}
	all := map[field]string{}
	for _, f := range []field{used, total, free, reserved, allocated, cached, fragmented, returnable, utilization, temperature, slowdown, power, powerLimit, fullIn, earliest, latest} {
		switch {
		case a.query.Unit == GPUs:
			all[f] = a.each(f, matchers, byGPU)
		case f != slowdown: // a figure of one GPU
			all[f] = a.boxes(f, matchers)
		}
	}
	all["info"] = a.infos(matchers)
	if a.query.Unit == Boxes {
		all[count] = "count by (instance) (" + a.each(total, matchers, byGPU) + ")"
		all["info"] = "count by (instance,name,host) (" + all["info"] + ")"
	}
	return named(all)
}

// owners selects the processes with the most memory on some GPUs.
func (a *asking) owners(instances, uuids []string) string {
	m := oneOf("instance", instances) + "," + oneOf("uuid", uuids)
	return fmt.Sprintf(`topk by (instance,uuid) (1, max by (instance,uuid,pid) (%s{%s})) * on (instance,uuid,pid) group_left(user,name,hpc_job) max by (instance,uuid,pid,user,name,hpc_job) (%s{%s})`,
		metric.Table[metric.Used].ExportedAs(metric.Process), m, exported(metric.ProcessInfo), m)
}

// predicted selects the highest median forecast of each GPU at these horizons.
func (a *asking) predicted(horizons []time.Duration) string {
	labels := make([]string, len(horizons))
	for i, h := range horizons {
		labels[i] = seconds(h.Seconds())
	}
	return fmt.Sprintf("max by (%s) (%s{%s})", byGPU, exported(metric.Predicted), oneOf("horizon", labels)+more(a.within))
}

// totals returns queries for the sums over all GPUs that the filter lets through. It counts a UUID once
// that two engines or exporters report.
func (a *asking) totals() map[field]string {
	each := func(f field) string { return a.each(f, nil, "uuid") }
	if len(a.query.Filter.named()) > 0 {
		each = func(f field) string {
			if s := a.wanted(f); s != "" {
				return "max by (uuid) (" + s + ")"
			}
			return ""
		}
	}
	all := map[field]string{}
	for _, f := range []field{used, total, free, reserved, allocated, cached, fragmented, returnable} {
		if s := each(f); s != "" {
			all[f] = "sum(" + s + ")"
		}
	}
	if a.own() {
		for f := range parts {
			all[f] = "sum(" + a.held(f, "") + ")"
		}
	}
	all[count] = "count(" + each(total) + ")"
	boxes := a.filtered(a.up(), "instance")
	if s := a.down(); s != "" {
		all["down"] = "count(" + s + ")"
		boxes += " or " + s // only the name of a box that is down can match
	}
	all["boxes"] = "count(" + boxes + ")"
	return all
}

// own reports whether the sums of memory are of the processes that pass the filter, not of whole GPUs:
// the filter names a user or a job, and the first exporter reports users and jobs.
func (a *asking) own() bool { return a.query.Filter.ofPeople() && a.exporters[0].people }

func more(matchers string) string {
	if matchers == "" {
		return ""
	}
	return "," + matchers
}
