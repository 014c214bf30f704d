package report

import (
	"math"
	"time"

	"vramscope/recording"
	"vramscope/schema"
)

// hours are the hours of a period, counted from its beginning. A comparison of two periods treats
// them as samples.
type hours struct {
	from   time.Time
	blocks []hour
}

type hour struct {
	memory  // of all GPUs
	retries *int64
	steps   map[string]stepping // by command
}

type stepping struct {
	steps int64
	over  time.Duration
}

func (h *hours) at(t time.Time) *hour { return &h.blocks[int(t.Sub(h.from)/time.Hour)] }

func (h *hours) addProcess(p *processSums, f *recording.Process5Min, retries, steps int64) {
	b := h.at(f.Time)
	if f.AllocRetries.Known() {
		b.retries = sumOf(b.retries, &retries)
	}
	if p.steps.since == 0 || f.Covered < nearlyWhole {
		return
	}
	if b.steps == nil {
		b.steps = map[string]stepping{}
	}
	s := b.steps[p.command]
	b.steps[p.command] = stepping{s.steps + steps, s.over + f.Covered}
}

// leastOfHour is how much of an hour must be recorded for it to count.
const leastOfHour = time.Hour / 2

// values returns a figure by hours; NaN for an unknown hour.
func (h *hours) values(value func(*hour) float64) []float64 {
	values := make([]float64, len(h.blocks))
	for i := range h.blocks {
		values[i] = math.NaN()
		if h.blocks[i].recorded >= leastOfHour {
			values[i] = value(&h.blocks[i])
		}
	}
	return values
}

// Compare compares this period, the second, with the first.
func (b *Builder) Compare(first *Builder) *schema.ReportComparison {
	out := &schema.ReportComparison{First: first.period(), Lines: []schema.ReportCompared{}}
	percentOf := func(p func(*hour) *part) func(*hour) float64 {
		return func(h *hour) float64 {
			if !p(h).known || h.capacity.gibHours == 0 {
				return math.NaN()
			}
			return 100 * p(h).gibHours / h.capacity.gibHours
		}
	}
	line := func(name, unit string, of func(*hour) float64) {
		if l, ok := compared(name, unit, first.hours.values(of), b.hours.values(of)); ok {
			out.Lines = append(out.Lines, l)
		}
	}
	line("used", "percent", percentOf(func(h *hour) *part { return &h.used }))
	line("allocated", "percent", percentOf(func(h *hour) *part { return &h.allocated }))
	line("cached", "percent", percentOf(func(h *hour) *part { return &h.cached }))
	line("fragmented", "percent", percentOf(func(h *hour) *part { return &h.fragmented }))
	line("utilization", "percent", func(h *hour) float64 { return h.load.busy / h.load.over.Hours() })
	out.Lines = append(out.Lines, rates("out of memory", first.allOOMs(), b.allOOMs(), first.recordedTime(), b.recordedTime()))
	line("alloc retries", "per_hour", func(h *hour) float64 {
		if h.retries == nil {
			return math.NaN()
		}
		return float64(*h.retries)
	})
	for _, command := range b.steppingCommands(first) {
		line("steps of "+command, "per_second", func(h *hour) float64 {
			if s, known := h.steps[command]; known {
				return float64(s.steps) / s.over.Seconds()
			}
			return math.NaN()
		})
	}
	return out
}
