package forecast

import (
	"math"
	"testing"
	"time"
)

// pooled is what the scores of one regime's series come to.
type pooled struct {
	relative, within80, within95 [len(Horizons)]float64 // geometric mean, means
	series, filled, found        int
	alarms, rightful             int
	anyFull                      int
	lead, fullError              float64 // medians
	covered                      float64 // share of true times to full within their interval
	trends                       map[Trend]int
}

// pool scores series of a regime from seeds on which nothing was tuned.
func pool(g regime, seeds int) *pooled {
	p := &pooled{trends: make(map[Trend]int)}
	var counted [len(Horizons)]float64
	var leads, fullErrors []float64
	covered, asked := 0, 0
	for seed := range seeds {
		y := g.make(seeded(uint64(seed) + 1000))
		s := scored(y, 1)
		p.series++
		for k, n := range s.scored {
			if n > 0 {
				counted[k]++
				p.relative[k] += math.Log(s.relative(k))
				p.within80[k] += s.within80[k]
				p.within95[k] += s.within95[k]
			}
		}
		p.alarms += s.alarms
		p.rightful += s.rightful
		p.anyFull += s.anyFull
		if y[len(y)-1] >= capacity {
			p.filled++
			if s.lead > 0 {
				p.found++
				leads = append(leads, s.lead)
			}
			fullErrors = append(fullErrors, median(s.fullErrors))
			covered += s.fullCovered
			asked += s.full
		}
		for trend, n := range s.trends {
			p.trends[trend] += n
		}
	}
	for k, n := range counted {
		p.relative[k] = math.Exp(p.relative[k] / n)
		p.within80[k] /= n
		p.within95[k] /= n
	}
	p.lead, p.fullError = median(leads), median(fullErrors)
	p.covered = float64(covered) / float64(asked)
	return p
}

// at is the place of a horizon.
func at(h time.Duration) int {
	for i := range Horizons {
		if Horizons[i] == h {
			return i
		}
	}
	return -1
}

// gate is what a regime's forecasts must reach; a zero asks nothing.
type gate struct {
	minute    float64 // relative error at 60 s at most
	anywhere  float64 // relative error at every horizon at most
	silent    bool    // FullIn never says anything
	alarmed   bool    // every series that fills is alarmed, and no other
	lead      float64 // median, seconds, at least
	fullError float64 // median, at most
	covered   bool    // intervals from 10 s to 2 min hold what they promise
}

func TestRegimesMeetTheirGates(t *testing.T) {
	gates := map[string]gate{
		"steps":                 {anywhere: 1.02},
		"alternation":           {anywhere: 1.02, silent: true},
		"noise":                 {minute: 0.85, anywhere: 0.85, silent: true, covered: true},
		"warm-up":               {anywhere: 1, silent: true},
		"sawtooth":              {minute: 0.85},
		"leak":                  {minute: 0.10, alarmed: true, lead: 280, fullError: 0.05},
		"bursts":                {minute: 0.60, alarmed: true, lead: 240},
		"staircase":             {minute: 0.30, alarmed: true, lead: 250, fullError: 0.10},
		"leak under a sawtooth": {minute: 0.75, alarmed: true, lead: 240, fullError: 0.25},
		"leak after a plateau":  {minute: 0.30, alarmed: true, lead: 250, fullError: 0.05},
	}
	for _, g := range regimes() {
		t.Run(g.name, func(t *testing.T) {
			p := pool(g, 20)
			t.Logf("relative error %.3f", p.relative)
			t.Logf("within 80 %%: %.3f, within 95 %%: %.3f", p.within80, p.within95)
			t.Logf("%d of %d fill, %d found, %d of %d alarms rightful, lead %.0f s, error %.3f, %.2f covered; FullIn at %d samples",
				p.filled, p.series, p.found, p.rightful, p.alarms, p.lead, p.fullError, p.covered, p.anyFull)
			t.Logf("%v", p.trends)
			p.check(t, gates[g.name])
		})
	}
}

func (p *pooled) check(t *testing.T, g gate) {
	t.Helper()
	if r := p.relative[at(time.Minute)]; g.minute > 0 && !(r <= g.minute) {
		t.Errorf("relative error at 60 s: %.3f, at most %.2f", r, g.minute)
	}
	for k, r := range p.relative {
		if g.anywhere > 0 && !(r <= g.anywhere) {
			t.Errorf("relative error at %v: %.3f, at most %.2f", Horizons[k], r, g.anywhere)
		}
	}
	if g.silent && p.anyFull > 0 {
		t.Errorf("%d samples with a time to full", p.anyFull)
	}
	if g.alarmed {
		if p.filled == 0 || p.found < p.filled {
			t.Errorf("%d of %d that fill were found", p.found, p.filled)
		}
		if precision := float64(p.rightful) / float64(p.alarms); !(precision >= 0.95) {
			t.Errorf("precision %.2f", precision)
		}
	}
	if g.lead > 0 && !(p.lead >= g.lead) {
		t.Errorf("lead %.0f s, at least %.0f", p.lead, g.lead)
	}
	if g.fullError > 0 && !(p.fullError <= g.fullError) {
		t.Errorf("time to full: median error %.3f, at most %.2f", p.fullError, g.fullError)
	}
	for k := range at(2*time.Minute) + 1 {
		if g.covered && (math.Abs(p.within80[k]-0.80) > 0.03 || math.Abs(p.within95[k]-0.95) > 0.02) {
			t.Errorf("at %v %.3f within 80 %%, %.3f within 95 %%", Horizons[k], p.within80[k], p.within95[k])
		}
	}
}
