package forecast

import (
	"math"
	"testing"
)

// A line is found however close the samples are, and a constant has none.
func TestLineThroughSamples(t *testing.T) {
	for _, c := range []struct{ dx, dy, want float64 }{{0.01, mib, 1}, {1e-6, mib, 1}, {1e6, mib, 0}, {0.01, 0, 0}} {
		r := oneSample
		for range 10 {
			r.observe(c.dx, c.dy)
		}
		if l := r.line(1); !(math.Abs(l.explained-c.want) < 1e-6) || !(math.Abs(l.slope-c.want*c.dy/c.dx) < 1e-6*c.dy/c.dx+1e-9) {
			t.Errorf("every %v by %v: %+v", c.dx, c.dy, l)
		}
	}
}

// The quick line covers two samples, however rare they are.
func TestQuickLineOfRareSamples(t *testing.T) {
	for step, want := range map[float64]float64{0.1: 8, 4: 8, 5: 10, 300: 600} {
		if got := (&state{Step: step}).quickTau(); got != want {
			t.Errorf("every %v s: %v s, want %v", step, got, want)
		}
	}
}

// An approach without noise yields level and speed exactly, at any sampling interval, from above
// and from below.
func TestReversionFindsLevelAndSpeed(t *testing.T) {
	const level, start, speed = 10 * gib, 3 * gib, 1.0 / 90
	for _, step := range []float64{0.1, 1, 7} {
		for _, from := range []float64{start, 2*level - start} {
			var a autoregression
			at := func(t float64) float64 { return level + (from-level)*math.Exp(-speed*t) }
			now := 0.0
			for range int(max(60, 60/step)) {
				a.observe(step/meanTau, at(now+step)-at(now), true)
				now += step
			}
			p := panel{}
			p.level, p.speed = a.reversion(step)
			if got := p.level + at(now); math.Abs(got-level) > 1e-6*level || math.Abs(p.speed-speed) > 1e-6*speed {
				t.Errorf("every %v s: to %.6f GiB at %.6f a second, want %v and %.6f", step, got/gib, p.speed, level/gib, speed)
			}
			if got, want := float64(new(state).claim(&p, 300)[reverting]), at(now+300)-at(now); math.Abs(got-want) > 1e-6*level {
				t.Errorf("every %v s: %.3f GiB in five minutes, want %.3f", step, got/gib, want/gib)
			}
		}
	}
}

// Enough samples are remembered, however rare they are.
func TestReversionOfRareSamples(t *testing.T) {
	for _, step := range []float64{1, 60, 300} {
		y := flat(300, 10*gib)
		for i := range y {
			y[i] += float64(i%2) * gib
		}
		f := fed(y, step)
		level, _ := f.state.Auto.reversion(f.state.Step)
		if got := f.state.Last + level; math.Abs(got-10.5*gib) > 0.1*gib {
			t.Errorf("every %v s: to %.2f GiB, want 10.5", step, got/gib)
		}
	}
}

// A line, a constant and a few samples do not approach a level.
func TestSeriesWithoutLevelHasNoReversion(t *testing.T) {
	for name, y := range map[string]func(i int) float64{
		"line":     func(i int) float64 { return float64(i) * 30 * mebibyte },
		"constant": func(int) float64 { return 7 * gib },
		"runaway":  func(i int) float64 { return gib * math.Exp(float64(i)/200) },
	} {
		var a autoregression
		for i := range 600 {
			a.observe(1.0/meanTau, y(i+1)-y(i), true)
		}
		if level, _ := a.reversion(1); level != 0 {
			t.Errorf("a %s returns to %.3f GiB", name, level/gib)
		}
	}
	var few autoregression
	few.observe(1.0/meanTau, gib, true)
	few.observe(1.0/meanTau, -gib, true)
	if level, speed := few.reversion(1); level != 0 || speed != 0 {
		t.Errorf("three samples approach %v at %v", level, speed)
	}
}

// A change to another job, or over a gap, is no step of an approach.
func TestReversionIgnoresGapsAndNewJobs(t *testing.T) {
	for name, held := range map[string]float64{"another job": 300 * mib, "after a gap": 20 * gib} {
		f := fed(flat(400, 70*gib), 1)
		if held > gib {
			f.Gap(after(400))
		}
		for i := range 60 {
			f.Observe(after(401+float64(i)), int64(held))
		}
		if level, speed := f.state.Auto.reversion(1); level != 0 || speed != 0 {
			t.Errorf("%s: a constant series approaches %.3f GiB at %.4f a second", name, level/gib, speed)
		}
	}
}
