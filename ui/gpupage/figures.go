package gpupage

import (
	"strconv"
	"strings"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

type figure struct {
	name, value string
	warn        bool
}

// The cells of a figure's name, and of the whole figure. A wider screen has more figures side by side.
const (
	nameCells   = 11
	figureCells = 39
)

// grid puts figures into columns, filled one after the other.
func (p *Page) grid(figures []figure, width int) []string {
	s, g := &p.Appearance.Styles, &p.Appearance.Glyphs
	columns := max(width/figureCells, 1)
	rows := (len(figures) + columns - 1) / columns
	lines := make([]string, 0, rows)
	l := cell.NewLine(width)
	for row := range rows {
		l.Reset(width)
		for column := range columns {
			i := column*rows + row
			if i >= len(figures) {
				break
			}
			f := &figures[i]
			start := column * (width / columns)
			l.To(start + 1)
			l.Left(s.Dim, f.name, nameCells, g.Ellipsis)
			l.Skip(1)
			l.Left(p.style(f), f.value, max(start+width/columns-l.Used()-1, 0), g.Ellipsis)
		}
		lines = append(lines, l.String())
	}
	return lines
}

// measured returns the figures of the whole GPU.
func (p *Page) measured(gpu *snapshot.GPU) []figure {
	w := words{p.Appearance.Glyphs.Dash, p.Appearance.Glyphs.Times}
	slow, slows := gpu.TemperatureSlowdown.Value()
	state := w.unit(gpu.PerformanceState, "")
	if state != w.dash {
		state = "P" + state
	}
	heat := w.unit(gpu.Temperature, "C")
	if slows {
		heat += ", slows down at " + strconv.Itoa(slow) + "C"
	}
	// A slower link is normal for an idle GPU; a narrower link may have a bad contact.
	narrow := gpu.PCIeWidth.Known() && gpu.PCIeWidth.Or(0) < gpu.PCIeWidthMax.Or(0)
	return []figure{
		{"utilization", w.unit(gpu.Utilization, "%"), false},
		{"bandwidth", w.unit(gpu.MemoryUtilization, "% of the time"), false},
		{"encoder", w.unit(gpu.EncoderUtilization, "%"), false},
		{"decoder", w.unit(gpu.DecoderUtilization, "%"), false},
		{"SM clock", w.ofLimit(gpu.SMClock, gpu.SMClockMax, " MHz"), false},
		{"mem clock", w.ofLimit(gpu.MemoryClock, gpu.MemoryClockMax, " MHz"), false},
		{"clock limit", w.reasons(gpu), len(gpu.Throttled) > 0},
		{"P-state", state, false},
		{"power", w.pair(w.watts(gpu.Power), " of ", w.watts(gpu.PowerLimit), " W"), false},
		{"energy", w.energy(gpu.Energy), false},
		{"temperature", heat, slows && gpu.Temperature.Or(0) >= slow-5},
		{"fan", w.unit(gpu.Fan, "%"), false},
		{"PCIe", w.link(gpu), narrow},
		{"PCIe rx, tx", w.rates(gpu.PCIeReceived, gpu.PCIeSent), false},
		{"BAR1", w.pair(w.bytes(gpu.BAR1Used), " of ", w.bytes(gpu.BAR1Total), ""), false},
		{"ECC", w.ecc(gpu), gpu.ECC.Uncorrected.Or(0) > 0},
		{"remapped", w.rows(gpu), gpu.RemappingPending.Or(0) > 0 || gpu.RemappingFailed.Or(0) > 0},
		{"NVLink", w.nvlink(gpu), gpu.NVLinksUp.Known() && gpu.NVLinksUp.Or(0) < gpu.NVLinkCount.Or(0)},
		{"NVL rx, tx", w.rates(gpu.NVLinkReceived, gpu.NVLinkSent), false},
		{"persistence", w.choice(gpu.Persistence, "off", "on"), false},
		{"compute", w.choice(gpu.ComputeMode, "default", "exclusive thread", "prohibited", "one process at a time"), false},
		{"MIG", w.mig(gpu), false},
	}
}

// words writes values with their units, or the dash if they are unknown.
type words struct{ dash, times string }

func orDash[T any](w words, v quantity.Optional[T], written func(T) string) string {
	if value, known := v.Value(); known {
		return written(value)
	}
	return w.dash
}

// mig returns the MIG mode, unknown if the GPU does not answer.
func (w words) mig(gpu *snapshot.GPU) string {
	switch {
	case gpu.State != snapshot.GPUOK:
		return w.dash
	case gpu.MIG:
		return "on, " + text.Plural(len(gpu.Instances), "instance", "instances")
	}
	return "off"
}

func (w words) unit(v snapshot.Int, unit string) string {
	return orDash(w, v, func(value int) string { return strconv.Itoa(value) + unit })
}

func (w words) ofLimit(v, limit snapshot.Int, unit string) string {
	if !limit.Known() {
		return w.unit(v, unit)
	}
	return w.unit(v, "") + " of " + w.unit(limit, unit)
}

// pair returns two values, the dash if both are unknown.
func (w words) pair(one, between, other, end string) string {
	if one == w.dash && other == w.dash {
		return w.dash
	}
	return one + between + other + end
}

func (w words) watts(power snapshot.Float) string {
	return orDash(w, power, func(value float64) string { return strconv.FormatFloat(value, 'f', 0, 64) })
}

// energy returns kWh, the unit of bills.
func (w words) energy(joules snapshot.Float) string {
	return orDash(w, joules, func(value float64) string {
		return strconv.FormatFloat(value/3.6e6, 'f', 2, 64) + " kWh since driver load"
	})
}

func (w words) bytes(v snapshot.Int) string {
	return orDash(w, v, func(value int) string { return quantity.Bytes(value).String() })
}

func (w words) rates(received, sent snapshot.Int) string {
	return w.pair(w.bytes(received), "/s, ", w.bytes(sent), "/s")
}

// link returns "gen 5 ×16", followed by the maximum if that differs.
func (w words) link(gpu *snapshot.GPU) string {
	now := w.pair(w.unit(gpu.PCIeGeneration, ""), " "+w.times, w.unit(gpu.PCIeWidth, ""), "")
	if now == w.dash {
		return now
	}
	now = "gen " + now
	best := "gen " + w.unit(gpu.PCIeGenerationMax, "") + " " + w.times + w.unit(gpu.PCIeWidthMax, "")
	if now == best || !gpu.PCIeGenerationMax.Known() {
		return now
	}
	return now + " of " + best
}

func (w words) ecc(gpu *snapshot.GPU) string {
	on, known := gpu.ECC.Enabled.Value()
	switch {
	case !known:
		return w.dash
	case !on:
		return "off"
	}
	corrected, counted := gpu.ECC.Corrected.Value()
	uncorrected, also := gpu.ECC.Uncorrected.Value()
	if counted && also && corrected == 0 && uncorrected == 0 {
		return "on, 0 errors"
	}
	return "on, " + w.count(gpu.ECC.Corrected) + " corrected, " + w.count(gpu.ECC.Uncorrected) + " not"
}

func (w words) count(v quantity.Optional[uint64]) string {
	return orDash(w, v, func(n uint64) string { return strconv.FormatUint(n, 10) })
}

func (w words) rows(gpu *snapshot.GPU) string {
	correctable, known := gpu.RemappedCorrectable.Value()
	if !known {
		return w.dash
	}
	uncorrectable := gpu.RemappedUncorrectable.Or(0)
	out := text.Plural(correctable+uncorrectable, "row", "rows")
	switch {
	case gpu.RemappingFailed.Or(0) > 0:
		out += ", one FAILED"
	case gpu.RemappingPending.Or(0) > 0:
		out += ", one more at reset"
	case uncorrectable > 0:
		out += ", " + strconv.Itoa(uncorrectable) + " uncorrectable"
	}
	return out
}

func (w words) nvlink(gpu *snapshot.GPU) string {
	links, known := gpu.NVLinkCount.Value()
	if !known {
		return w.dash
	}
	errors := w.dash + " errors"
	if n, known := gpu.NVLinkErrors.Value(); known {
		errors = text.Plural(n, "error", "errors")
	}
	return w.unit(gpu.NVLinksUp, "") + " of " + strconv.Itoa(links) + " up, " + errors
}

func (w words) choice(v snapshot.Int, names ...string) string {
	value, known := v.Value()
	if !known || value < 0 || value >= len(names) {
		return w.dash
	}
	return names[value]
}

// clockReasons name why clocks are not higher, by the bits of nvmlClocksEventReasons in nvml.h.
var clockReasons = [...]string{
	"idle", "application clocks", "power limit", "hardware slowdown", "sync boost",
	"too hot", "too hot (hardware)", "power brake", "display clocks",
}

// reasons returns the limits of the clocks in words, "none" if there are none.
func (w words) reasons(gpu *snapshot.GPU) string {
	bits, known := gpu.ClockReasons.Value()
	if !known {
		if len(gpu.Throttled) > 0 {
			return strings.Join(gpu.Throttled, ", ")
		}
		return w.dash
	}
	var names []string
	for i, name := range clockReasons {
		if bits>>i&1 == 1 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
