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
