package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// hours are the hours of a period, counted from its beginning, which Compare treats as samples.
type hours struct {
	from   time.Time
	blocks []hour
}

type hour struct {
	memory  // of all GPUs
	retries Count
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
		b.retries = quantity.Sum(b.retries, number(retries))
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

// leastOfHour is how much of an hour must be recorded, summed over GPUs, for the hour to count.
const leastOfHour = time.Hour / 2

// values returns a figure for each hour, NaN if unknown.
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

// Compare compares this period with an earlier one.
func (b *Builder) Compare(first *Builder) *schema.ReportComparison {
	out := &schema.ReportComparison{First: first.period(), Lines: []schema.ReportCompared{}}
	line := func(name, unit string, of func(*hour) float64) {
		if l, ok := compared(name, unit, first.hours.values(of), b.hours.values(of)); ok {
			out.Lines = append(out.Lines, l)
		}
	}
	for part, name := range [...]string{used: "used", allocated: "allocated", cached: "cached", fragmented: "fragmented"} {
		line(name, "percent", func(h *hour) float64 {
			hours, known := h.parts[part].Value()
			if whole := h.parts[capacity].Or(0); known && whole != 0 {
				return 100 * hours / whole
			}
			return math.NaN()
		})
	}
	line("utilization", "percent", func(h *hour) float64 { return h.load.busy / h.load.over.Hours() })
	out.Lines = append(out.Lines, rates("out of memory", first.allOOMs(), b.allOOMs(), first.recordedTime(), b.recordedTime()))
	line("alloc retries", "per_hour", func(h *hour) float64 {
		return quantity.As[float64](h.retries).Or(math.NaN())
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

// Two periods always differ. A difference exceeds noise if Welch's t test of their hours rejects,
// at 1 %, that both have the same mean (Welch 1947). Successive hours are correlated, so n hours
// count as n (1−r)/(1+r) independent ones, where r is their autocorrelation at one hour (Bayley &
// Hammersley 1946). Out-of-memory errors are rare events: their rates are compared by the
// conditional test of two Poisson rates (Przyborowski & Wilenski 1940).
const (
	level = 0.01
	// leastHours is the fewest independent hours in each period for a test.
	leastHours = 4
)

// sampled is the mean of the hours of a period, with the figures for its standard error.
type sampled struct {
	mean     float64
	n        float64 // the number of independent hours
	variance float64 // of an hour's value
}

func sampleOf(values []float64) sampled {
	s := sampled{}
	for _, v := range values {
		if !math.IsNaN(v) {
			s.n++
			s.mean += v
		}
	}
	if s.n == 0 {
		return sampled{mean: math.NaN()}
	}
	s.mean /= s.n
	var sum, product, pairs float64
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		sum += (v - s.mean) * (v - s.mean)
		if i > 0 && !math.IsNaN(values[i-1]) {
			product += (v - s.mean) * (values[i-1] - s.mean)
			pairs++
		}
	}
	if s.n > 1 {
		s.variance = sum / (s.n - 1)
	}
	if s.variance > 0 && pairs > 0 {
		// The mean is taken from the same hours, which makes r too small by about 1/n.
		r := min(max(product/pairs/(sum/s.n)+1/s.n, 0), 1)
		s.n *= (1 - r) / (1 + r)
	}
	return s
}

// compared compares a figure of both periods. ok is false if neither period has the figure.
func compared(name, unit string, first, second []float64) (line schema.ReportCompared, ok bool) {
	a, b := sampleOf(first), sampleOf(second)
	line = schema.ReportCompared{Name: name, Unit: unit, First: finite(a.mean), Second: finite(b.mean), Difference: finite(b.mean - a.mean)}
	if a.n >= leastHours && b.n >= leastHours {
		ea, eb := a.variance/a.n, b.variance/b.n
		noise := 0.0
		if ea+eb > 0 {
			freedom := (ea + eb) * (ea + eb) / (ea*ea/(a.n-1) + eb*eb/(b.n-1)) // Satterthwaite 1946
			noise = quantileT(freedom) * math.Sqrt(ea+eb)
		}
		beyond := math.Abs(b.mean-a.mean) > noise
		line.Noise, line.BeyondNoise = figure(noise, true), &beyond
	}
	return line, line.First.Known() || line.Second.Known()
}

func finite(v float64) snapshot.Float { return figure(v, !math.IsNaN(v) && !math.IsInf(v, 0)) }

// quantileT returns the value of Student's t that is exceeded with a probability of level/2
// (Abramowitz & Stegun, 26.7.5; within 4 % from three degrees of freedom).
func quantileT(freedom float64) float64 {
	z := math.Sqrt2 * math.Erfinv(1-level)
	z3, z5, z7 := z*z*z, z*z*z*z*z, z*z*z*z*z*z*z
	return z + (z3+z)/(4*freedom) + (5*z5+16*z3+3*z)/(96*freedom*freedom) +
		(3*z7+19*z5+17*z3-15*z)/(384*freedom*freedom*freedom)
}

func rates(name string, first, second Count, overFirst, overSecond time.Duration) schema.ReportCompared {
	line := schema.ReportCompared{Name: name, Unit: "per_hour", First: perHour(first, overFirst), Second: perHour(second, overSecond)}
	if !line.First.Known() || !line.Second.Known() {
		return line
	}
	line.Difference = finite(line.Second.Or(0) - line.First.Or(0))
	// If the rates are the same, each event falls into the second period with this chance.
	chance := overSecond.Hours() / (overFirst.Hours() + overSecond.Hours())
	line.BeyondNoise = new(binomialTails(int(first.Or(0)+second.Or(0)), int(second.Or(0)), chance) < level)
	return line
}

// binomialTails returns the p-value of the two-sided binomial test: the probability of all counts
// among n that are no more likely than k.
func binomialTails(n, k int, chance float64) float64 {
	log := func(i int) float64 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(i + 1))
		c, _ := math.Lgamma(float64(n - i + 1))
		return a - b - c + float64(i)*math.Log(chance) + float64(n-i)*math.Log1p(-chance)
	}
	limit, total := log(k)+1e-9, 0.0
	for i := range n + 1 {
		if p := log(i); p <= limit {
			total += math.Exp(p)
		}
	}
	return total
}

// steppingCommands returns the commands with steps in both periods, at most five: those with the
// most steps in the second period.
func (b *Builder) steppingCommands(first *Builder) []string {
	const maxCommands = 5
	count := func(h *hours) map[string]int64 {
		sums := map[string]int64{}
		for i := range h.blocks {
			for command, s := range h.blocks[i].steps {
				sums[command] += s.steps
			}
		}
		return sums
	}
	before, after := count(&first.hours), count(&b.hours)
	maps.DeleteFunc(after, func(command string, n int64) bool { return n == 0 || before[command] == 0 })
	commands := slices.SortedFunc(maps.Keys(after), func(x, y string) int {
		return cmp.Or(cmp.Compare(after[y], after[x]), cmp.Compare(x, y))
	})
	return commands[:min(len(commands), maxCommands)]
}
