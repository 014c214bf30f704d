package forecast

import (
	"time"

	"vramscope/internal/forecastlab/regime"
)

const (
	gib = regime.GiB
	mib = regime.MiB
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// at returns the forecast at one of the Horizons.
func at(f *Forecaster, h time.Duration) (Interval, bool) {
	for _, in := range f.Forecasts(nil) {
		if in.Horizon == h {
			return in, true
		}
	}
	return Interval{}, false
}
