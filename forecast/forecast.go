package forecast

import "time"

// Horizons are the distances at which a forecast is made.
var Horizons = [...]time.Duration{
	10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute,
	5 * time.Minute, 10 * time.Minute, 15 * time.Minute,
}

// Interval is a forecast in bytes: Lower95 ≤ Lower80 ≤ Median ≤ Upper80 ≤ Upper95.
type Interval struct {
	Horizon                                    time.Duration
	Median, Lower80, Upper80, Lower95, Upper95 int64
}
