package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// The cells of the table; the dash is unknown.

func (t *table) word(s string) string { return cmp.Or(oneWord(s), t.signs.Dash) }

func (t *table) bytes(b snapshot.Bytes) string { return t.signs.bytes(b) }

// metric is a metric of a GPU or a process, in its unit.
func (t *table) metric(subject interface {
	Value(metric.ID) snapshot.Float
}, id metric.ID) string {
	v, ok := subject.Value(id).Value()
	switch unit := metric.Table[id].Unit; {
	case !ok:
		return t.signs.Dash
	case unit == metric.Bytes:
		return quantity.Bytes(v).String()
	case unit == metric.Percent:
		return fmt.Sprintf("%.0f%%", v)
	case unit == metric.Celsius:
		return fmt.Sprintf("%.0fC", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

// power is "612/700W", or "612W" without a limit.
func (t *table) power(power, limit snapshot.Float) string {
	v, ok := metric.Finite(power).Value()
	if !ok {
		return t.signs.Dash
	}
	if whole, ok := metric.Finite(limit).Value(); ok {
		return fmt.Sprintf("%.0f/%.0fW", v, whole)
	}
	return fmt.Sprintf("%.0fW", v)
}

// fullIn is "4m10s(3m–6m)", in one word.
func (t *table) fullIn(full *snapshot.FullIn) string {
	if full == nil {
		return t.signs.Dash
	}
	latest := "+"
	if full.Latest > 0 {
		latest = t.signs.EnDash + shortDuration(full.Latest)
	}
	return shortDuration(full.Median) + "(" + shortDuration(full.Earliest) + latest + ")"
}

// shortDuration is "58s", "4m10s", "3m" or "2h05m".
func shortDuration(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
}

// commandOf is what a process runs, as a table shows it.
func commandOf(p *snapshot.Process) string {
	switch {
	case p.ID.Process.Hidden():
		return "hidden: another user's"
	case p.ID.Process.Foreign():
		return "pid of another container"
	}
	return text.Clean(process.ShortCommand(p.Command, p.Name))
}

// placeOf is "5", or "5:1" for the first MIG instance of GPU 5.
func (t *table) placeOf(p *snapshot.Process) string {
	if p.ID.Instance.MIG {
		if g := t.snap.GPU(p.ID.GPUUUID); g != nil && g.Instance(p.ID.Instance) != nil {
			return instanceName(p.GPU, g.InstanceNumber(p.ID.Instance))
		}
		return instanceName(p.GPU, int(p.ID.Instance.GPU)) // of an instance that is not there any more
	}
	return strconv.Itoa(p.GPU)
}

func instanceName(gpu, number int) string { return fmt.Sprintf("%d:%d", gpu, number) }

// users lists who is on a GPU, or on one of its instances, the biggest first.
func (t *table) users(uuid string, instance *snapshot.InstanceID) string {
	var rows []*snapshot.Process
	for p := range t.snap.GPURows(uuid) {
		if instance == nil || p.ID.Instance == *instance {
			rows = append(rows, p)
		}
	}
	slices.SortStableFunc(rows, bySize)
	var names []string
	for _, p := range rows {
		if name := oneWord(cmp.Or(p.User, "?")); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return t.signs.Dash
	}
	return strings.Join(names, ",")
}
