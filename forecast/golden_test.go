package forecast

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"vramscope/internal/forecastlab/regime"
)

var update = flag.Bool("update", false, "write testdata/forecasts.golden")

// TestForecastsAreThoseOfBefore: no change alters the forecasts by accident. For a series of each
// regime, at certain times, the golden file has the trend, its bytes a minute, the forecasts of
// three horizons and the time to full, in MiB and seconds. Another processor may round differently.
func TestForecastsAreThoseOfBefore(t *testing.T) {
	const file, every = "testdata/forecasts.golden", 211
	var out strings.Builder
	for _, g := range regime.All() {
		fmt.Fprintf(&out, "%s\n", g.Name)
		f := New()
		y := g.Make(regime.Seeded(7))
		for i, v := range y[:min(len(y), 3600)] {
			f.Observe(after(float64(i)*g.Every()), int64(v))
			if i%every != every-1 {
				continue
			}
			rate, _ := f.GrowthPerSecond()
			fmt.Fprintf(&out, "%d %d %.3f", i, f.Trend(), rate*60/mib)
			for _, h := range []time.Duration{10 * time.Second, 2 * time.Minute, 15 * time.Minute} {
				in, _ := at(f, h)
				for _, bytes := range []int64{in.Lower95, in.Lower80, in.Median, in.Upper80, in.Upper95} {
					fmt.Fprintf(&out, " %.1f", float64(bytes)/mib)
				}
			}
			if full, ok := f.FullIn(int64(regime.Capacity - v)); ok {
				fmt.Fprintf(&out, " %.1f %.1f %.1f", full.Earliest.Seconds(), full.Median.Seconds(), full.Latest.Seconds())
			}
			out.WriteByte('\n')
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	gots, wants := strings.Split(out.String(), "\n"), strings.Split(string(want), "\n")
	if len(gots) != len(wants) {
		t.Fatalf("%d lines, want %d", len(gots), len(wants))
	}
	name := ""
	for i := range gots {
		if !strings.Contains(gots[i], ".") {
			name = gots[i]
		}
		if !nearlyEqual(gots[i], wants[i]) {
			t.Fatalf("%s:\n%s, want\n%s", name, gots[i], wants[i])
		}
	}
}

// nearlyEqual reports whether the words of two lines are equal, numbers within .1 and a ten-thousandth.
func nearlyEqual(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		v, err := strconv.ParseFloat(x[i], 64)
		w, err2 := strconv.ParseFloat(y[i], 64)
		if (err != nil || err2 != nil) && x[i] != y[i] || err == nil && err2 == nil && math.Abs(v-w) > 0.1+math.Abs(w)/10000 {
			return false
		}
	}
	return true
}
