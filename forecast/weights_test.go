package forecast

import (
	"math"
	"testing"

	"vramscope/internal/forecastlab/regime"
)

// The best expert so far is not followed while it claims nothing: cycles that have
// become too uneven for a phase are not forecast as no change.
func TestExpertWithoutClaimIsNotFollowed(t *testing.T) {
	weighed := naiveVerdict()
	weighed.Ratio[seasonal], weighed.Share[seasonal] = 0.1, 1
	weighed.Ratio[lineLong], weighed.Share[lineLong] = 0.6, 0.9
	c := claims{lineLong: gib}
	if expert := weighed.best(&c); expert != lineLong {
		t.Errorf("follows %d", expert)
	}
	c[seasonal] = -gib
	if expert := weighed.best(&c); expert != seasonal {
		t.Errorf("follows %d", expert)
	}
}

// A series that is noise around a level at times, and constant away from it at others,
// is forecast to return while it moves, and to stay while it is still.
func TestStillSeriesHasOwnCredits(t *testing.T) {
	r := regime.Seeded(16)
	stays, moves, left := 0.0, false, 0
	var still, moving, stills, movings float64
	f := New()
	for i := range 20_000 {
		if left == 0 {
			moves, left = !moves, 100+r.IntN(200)
			stays = 20*gib + gib*r.NormFloat64()
		}
		left--
		y := stays
		if moves {
			y = 20*gib + gib*r.NormFloat64()
		}
		f.Observe(after(float64(i)), int64(y))
		if i < 2000 {
			continue
		}
		in, _ := f.At(Horizons[0])
		c := f.state.panel().median
		if claimed := math.Abs(float64(in.Median) - y); f.state.Still {
			still, stills = still+claimed, stills+math.Abs(c)
		} else {
			moving, movings = moving+claimed, movings+math.Abs(c)
		}
	}
	if still > 0.1*stills || moving < 0.6*movings {
		t.Errorf("of the way back to the median %.0f %% are forecast when it is still, %.0f %% when it moves", 100*still/stills, 100*moving/movings)
	}
}

// The borrowed record counts as much as so many forecasts of the present claim's size:
// for trends a fixed number, for returns as many as fill the horizon.
func TestWeightOfOwnExperienceGrowsWithClaims(t *testing.T) {
	const size, perHorizon = 3.0 * gib, 12
	for expert, claimed := range map[int]float64{
		driftShort: priorSamples * size,
		medianLong: priorSamples * perHorizon / samplesPerReturn * size * size,
	} {
		for _, times := range []float64{1, 3} {
			var r record
			r.Credits[expert] = credit{Came: times * claimed, Claimed: times * claimed}
			c := claims{}
			c[expert] = -size
			shorter := weights{verdict: naiveVerdict()}
			got := r.weigh(&c, false, perHorizon, &shorter)
			if want := times / (times + 1); math.Abs(got.own[expert]-want) > 1e-9 || math.Abs(got.Share[expert]-want) > 1e-9 {
				t.Errorf("expert %d, %v times the prior: %v its own, %v believed; want %v", expert, times, got.own[expert], got.Share[expert], want)
			}
		}
	}
}

// A trend is scored by its whole claim, a return by the share that was believed; one
// step counts for at most one and a half claims.
func TestTrendsAreScoredWholeAndReturnsByShare(t *testing.T) {
	var r record
	r.Verdict = naiveVerdict()
	r.Verdict.Share[driftShort], r.Verdict.Share[medianLong] = 0.5, 0.5
	p := promise{Published: float32(math.Inf(1))}
	p.Claims[driftShort], p.Claims[medianLong] = 2<<30, 2<<30
	r.score(&p, false, 1e9, gib, 10, 120)
	if k := r.Credits[driftShort]; k.Loss != k.Naive || k.Naive <= 0 {
		t.Errorf("a trend that claimed twice too much: %+v", k)
	}
	if k := r.Credits[medianLong]; k.Loss != 0 || k.Naive <= 0 {
		t.Errorf("a return that was half believed, and was half true: %+v", k)
	}
	before := r.Credits[driftShort].Came
	r.score(&p, false, 1e9, 50*gib, 10, 120)
	if got := r.Credits[driftShort].Came - before; got != 3*gib {
		t.Errorf("a step of 50 GiB counts for %.1f GiB of a claim of two", got/gib)
	}
}

// One that is no better than naive claims nothing; half a share claims half.
func TestOpinionIsTheBelievedShare(t *testing.T) {
	v := naiveVerdict()
	v.Share[driftShort] = 0.5
	c := claims{driftShort: gib}
	if got := v.opinion(&c, driftShort); got != 0 {
		t.Errorf("one no better than naive claims %.2f GiB", got/gib)
	}
	v.Ratio[driftShort] = 0.7
	if got := v.opinion(&c, driftShort); got != gib/2 {
		t.Errorf("one believed by half claims %.2f GiB of one", got/gib)
	}
}
