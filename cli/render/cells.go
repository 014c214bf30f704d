package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// The cells of the table. The dash means unknown.

func (t *table) word(s string) string { return cmp.Or(oneWord(s), t.signs.Dash) }

// metric returns a metric of a GPU or a process, in its unit.
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

// power returns "612/700W", or "612W" without a limit.
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

// fullIn returns "4m10s(3m–6m)", or "4m10s(3m+)" if the interval has no late end.
func (t *table) fullIn(full *snapshot.FullIn) string {
	if full == nil {
		return t.signs.Dash
	}
	latest := "+"
	if full.Latest > 0 {
		latest = t.signs.EnDash + brief(full.Latest)
	}
	return brief(full.Median) + "(" + brief(full.Earliest) + latest + ")"
}

// placeOf returns "5", or "5:1" for the first MIG instance of GPU 5.
func (t *table) placeOf(p *snapshot.Process) string {
	if p.ID.Instance.MIG {
		if g := t.snap.GPU(p.ID.GPUUUID); g != nil && g.Instance(p.ID.Instance) != nil {
			return instanceName(p.GPU, g.InstanceNumber(p.ID.Instance))
		}
		return instanceName(p.GPU, int(p.ID.Instance.GPU)) // the instance is not there any more
	}
	return strconv.Itoa(p.GPU)
}

// brief returns "58s", "4m08s", "3m" or "2h05m".
func brief(d time.Duration) string {
	if d = d.Round(time.Second); d < time.Hour && d%time.Minute == 0 {
		return quantity.BriefDuration(d)
	}
	return quantity.Duration(d)
}

func instanceName(gpu, number int) string { return fmt.Sprintf("%d:%d", gpu, number) }

// users lists the users of a GPU, or of one of its instances, the one with the most memory first.
func (t *table) users(uuid string, instance snapshot.InstanceID) string {
	rows := slices.Collect(t.snap.PlaceRows(snapshot.Place{GPUUUID: uuid, Instance: instance}))
	sorted.Stable(rows, bySize)
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

// StatusLine returns one line for a status bar:
//
//	60.8/79.6G 97% 68C                                          one GPU
//	415/637G  8 GPUs  fullest 3: 72.9/79.6G  ! 6 lost           several
func StatusLine(snap *snapshot.Snapshot, ascii bool) string {
	t := table{snap: snap, signs: SignsFor(ascii)}
	parts := simulated(snap.Simulated)
	switch len(snap.GPUs) {
	case 0:
		parts = append(parts, "no GPU")
	case 1:
		g := &snap.GPUs[0]
		parts = append(parts, strings.Join([]string{
			t.share(g.Memory.Used, g.Memory.Total), t.metric(g, metric.Utilization), t.metric(g, metric.Temperature),
		}, " "))
	default:
		parts = append(parts, t.total(), text.Plural(len(snap.GPUs), "GPU", "GPUs"))
		if g := snap.Fullest(); g != nil {
			parts = append(parts, fmt.Sprintf("fullest %d: %s", g.Index, t.share(g.Memory.Used, g.Memory.Total)))
		}
	}
	for i := range snap.GPUs {
		if g := &snap.GPUs[i]; g.State != snapshot.GPUOK {
			parts = append(parts, fmt.Sprintf("! %d %s", g.Index, g.StateWord()))
		} else if g.FullIn != nil {
			parts = append(parts, fmt.Sprintf("! %d full %s", g.Index, brief(g.FullIn.Median)))
		}
	}
	return strings.Join(parts, "  ") + "\n"
}

// total returns the memory of all GPUs whose memory is known.
func (t *table) total() string {
	var used, total []snapshot.Bytes
	for i := range t.snap.GPUs {
		if memory := t.snap.GPUs[i].Memory; memory.Used.Known() {
			used, total = append(used, memory.Used), append(total, memory.Total)
		}
	}
	return t.share(quantity.Sum(used...), quantity.Sum(total...))
}

// share returns "60.8/79.6G", without decimals from 100 GiB.
func (t *table) share(used, total snapshot.Bytes) string {
	whole, ok := total.Value()
	if !ok {
		return t.signs.Bytes(used) + "/" + t.signs.Dash
	}
	digits := 1
	if whole >= 100*quantity.GiB {
		digits = 0
	}
	held := t.signs.Dash
	if v, ok := used.Value(); ok {
		held = fmt.Sprintf("%.*f", digits, float64(v)/float64(quantity.GiB))
	}
	return fmt.Sprintf("%s/%.*fG", held, digits, float64(whole)/float64(quantity.GiB))
}
