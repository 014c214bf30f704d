package forecast

import (
	"math"
	"testing"
)

const gib32 = 1 << 30

// The best expert so far is not followed while it claims nothing, as the seasonal one does once cycles
// are too uneven.
func TestExpertWithoutClaimIsNotFollowed(t *testing.T) {
	var v verdict
	v.Gain[seasonal], v.Share[seasonal] = 0.9, 1
	v.Gain[lineLong], v.Share[lineLong] = 0.4, 0.9
	c := claims{lineLong: gib32}
	if expert, _ := v.choose(&c); expert != lineLong {
		t.Errorf("follows %d", expert)
	}
	c[seasonal] = -gib32
	if expert, _ := v.choose(&c); expert != seasonal {
		t.Errorf("follows %d", expert)
	}
}

// The next shorter horizon's verdict counts as much as priorSamples forecasts, each as large as the
// present claim.
func TestOwnExperienceGrowsWithClaims(t *testing.T) {
	const size = 3 * gib32
	const claimed = priorSamples * size
	for _, times := range []float32{1, 3} {
		var r record
		r.Credits[driftShort] = credit{Gain: times * claimed, Naive: times * claimed, Came: times * claimed, Claimed: times * claimed}
		c, v := claims{driftShort: -size}, verdict{}
		r.weigh(&c, &v)
		if want := times / (times + 1); math.Abs(float64(v.Share[driftShort]-want)) > 1e-6 || math.Abs(float64(want-v.Gain[driftShort])) > 1e-6 {
			t.Errorf("%v times the prior: %+v, want a share of %v", times, v, want)
		}
	}
}

// A trend is scored by its whole claim, a return by the share that was believed. A step counts as at
// most 1.5 times the claim.
func TestTrendsAreScoredWholeAndReturnsByShare(t *testing.T) {
	var r record
	r.Shares[driftShort], r.Shares[reverting] = 0.5, 0.5
	c := claims{driftShort: 2 * gib32, reverting: 2 * gib32}
	r.score(&c, gib32, 1)
	if k := r.Credits[driftShort]; k.Gain != 0 || k.Naive <= 0 {
		t.Errorf("a trend that claimed twice too much: %+v", k)
	}
	if k := r.Credits[reverting]; k.Gain != k.Naive || k.Naive <= 0 {
		t.Errorf("a return that was half believed, and was half true: %+v", k)
	}
	before := r.Credits[driftShort].Came
	r.score(&c, 50*gib32, 1)
	if got := r.Credits[driftShort].Came - before; got != 3*gib32 {
		t.Errorf("a step of 50 GiB counts for %.1f GiB of a claim of two", got/gib32)
	}
}

// An expert that is no better than naive changes nothing. An expert with half a share makes half of
// its change.
func TestChangeIsTheBelievedShare(t *testing.T) {
	var v verdict
	v.Share[driftShort] = 0.5
	c := claims{driftShort: gib32}
	if _, got := v.choose(&c); got != 0 {
		t.Errorf("one no better than naive claims %.2f GiB", got/gib32)
	}
	v.Gain[driftShort] = 0.3
	if _, got := v.choose(&c); got != gib32/2 {
		t.Errorf("one believed by half claims %.2f GiB of one", got/gib32)
	}
}

// A load, which ends within a minute, fills no GPU. A leak is forecast to continue after its first minute.
func TestFirstMinuteFillsNoGPU(t *testing.T) {
	load, leak := New(), New()
	for i := range 60 {
		y := int64(float64(i) * gib)
		load.Observe(after(float64(i)), y)
		if full, ok := load.FullIn(int64(80*gib) - y); ok {
			t.Fatalf("after a load of %d s it is full in %v", i, full.Median)
		}
		leak.Observe(after(float64(i)), int64(10*gib)+y/32)
	}
	for _, in := range leak.Forecasts(nil) {
		if grows := float64(in.Median) - (10+59.0/32)*gib; grows < 0.9*in.Horizon.Seconds()*gib/32 {
			t.Errorf("a leak of 32 MiB a second grows by %.1f GiB: %+v", grows/gib, in)
		}
	}
}
