package cell

import (
	"math"
	"strconv"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// Figures in columns have a maximum width, so that columns do not shift. The Append functions write
// into a buffer, because a frame has hundreds of figures.

// AppendBytes writes an amount in at most 5 cells, or the dash if it is unknown.
func AppendBytes(dst []byte, amount snapshot.Bytes, dash string) []byte {
	v, ok := amount.Value()
	if !ok {
		return append(dst, dash...)
	}
	return v.Append(dst)
}

// AppendUnreturnable writes, in at most 5 cells, cached memory that no flush frees: "(33G)", "(.6G)".
func AppendUnreturnable(dst []byte, amount quantity.Bytes) []byte {
	v, unit := float64(amount)/float64(quantity.KiB), byte('K')
	for _, u := range []byte("MGTPE") {
		if v < 99.5 {
			break
		}
		v, unit = v/1024, u
	}
	dst = append(dst, '(')
	if v < 0.95 && v > 0 {
		dst = append(dst, '.', '0'+byte(min(max(math.Round(v*10), 1), 9)))
	} else {
		dst = strconv.AppendFloat(dst, v, 'f', 0, 64)
	}
	return append(dst, unit, ')')
}

// AppendUsedTotal writes "60.8/79.6G", at most 10 cells, or 12 from 100 GiB.
func AppendUsedTotal(dst []byte, used, total snapshot.Bytes, dash string) []byte {
	dst = appendGiB(dst, used, dash)
	dst = append(dst, '/')
	if dst = appendGiB(dst, total, dash); total.Known() {
		dst = append(dst, 'G')
	}
	return dst
}

func appendGiB(dst []byte, amount snapshot.Bytes, dash string) []byte {
	v, ok := amount.Value()
	if !ok {
		return append(dst, dash...)
	}
	gib := float64(v) / float64(quantity.GiB)
	if gib >= 999.95 || gib <= -99.95 {
		return strconv.AppendFloat(dst, gib, 'f', 0, 64)
	}
	return strconv.AppendFloat(dst, gib, 'f', 1, 64)
}

// AppendWithin writes a number, kept within bounds, and its unit.
func AppendWithin(dst []byte, value snapshot.Int, lower, upper int, unit, dash string) []byte {
	v, ok := value.Value()
	if !ok {
		return append(dst, dash...)
	}
	return append(AppendInt(dst, min(max(v, lower), upper)), unit...)
}

// AppendPercent writes at most 4 cells: "97%".
func AppendPercent(dst []byte, value snapshot.Int, dash string) []byte {
	return AppendWithin(dst, value, 0, 999, "%", dash)
}

// AppendTemperature writes at most 4 cells, without a degree sign: "68C".
func AppendTemperature(dst []byte, value snapshot.Int, dash string) []byte {
	return AppendWithin(dst, value, -99, 999, "C", dash)
}

// AppendWatts writes at most 4 cells: "612W", or "1.2k" from 1000 W.
func AppendWatts(dst []byte, power snapshot.Float, dash string) []byte {
	v, ok := power.Value()
	if !ok {
		return append(dst, dash...)
	}
	if !(v < 999.5) {
		return append(strconv.AppendFloat(dst, min(v/1000, 9.9), 'f', 1, 64), 'k')
	}
	return append(strconv.AppendFloat(dst, max(v, 0), 'f', 0, 64), 'W')
}

// AppendPower writes at most 8 cells: "612/700W", or "1.0/1.2k" from 1000 W.
func AppendPower(dst []byte, power, limit snapshot.Float, dash string) []byte {
	upper, ok := limit.Value()
	if !ok {
		return AppendWatts(dst, power, dash)
	}
	v, ok := power.Value()
	if !ok {
		return append(dst, dash...)
	}
	if upper < 999.5 && v < 999.5 {
		dst = strconv.AppendFloat(dst, max(v, 0), 'f', 0, 64)
		dst = append(dst, '/')
		return append(strconv.AppendFloat(dst, max(upper, 0), 'f', 0, 64), 'W')
	}
	dst = strconv.AppendFloat(dst, min(max(v, 0)/1000, 9.9), 'f', 1, 64)
	dst = append(dst, '/')
	return append(strconv.AppendFloat(dst, min(upper/1000, 9.9), 'f', 1, 64), 'k')
}

// AppendInt appends a number without a unit.
func AppendInt(dst []byte, v int) []byte { return strconv.AppendInt(dst, int64(v), 10) }

// AppendPercentOf writes per cent of one core, which may be over 999, in at most 4 cells.
func AppendPercentOf(dst []byte, value snapshot.Int, dash string) []byte {
	v, ok := value.Value()
	if !ok {
		return append(dst, dash...)
	}
	if v = max(v, 0); v > 999 {
		return append(AppendInt(dst, min(v/100, 999)), 'x') // 1600 % of one core is 16 cores
	}
	return append(AppendInt(dst, v), '%')
}

// CoarseDuration returns a duration in one unit, rounded down: "42m"; days from 48 hours on.
func CoarseDuration(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	case d < time.Hour:
		return strconv.FormatInt(int64(d/time.Minute), 10) + "m"
	case d < 48*time.Hour:
		return strconv.FormatInt(int64(d/time.Hour), 10) + "h"
	default:
		return strconv.FormatInt(int64(d/(24*time.Hour)), 10) + "d"
	}
}

// PerSecond returns a rate of growth: "25M/s".
func PerSecond(rate quantity.Bytes) string { return rate.String() + "/s" }

// Rounded rounds an amount as the screen shows it. The table is sorted by rounded amounts, so that
// noise in the fourth digit does not swap rows.
func Rounded(amount quantity.Bytes) float64 {
	v, unit := math.Abs(float64(amount)), 1.0
	for unit < float64(quantity.EiB) && v/unit >= 999.5 {
		unit *= 1024
	}
	step := unit
	switch {
	case unit < float64(quantity.GiB):
	case v/unit < 9.995:
		step /= 100
	case v/unit < 99.95:
		step /= 10
	}
	return math.Copysign(math.RoundToEven(v/step)*step, float64(amount)) // as the text is rounded
}

// AppendIndex writes a GPU's index, "3", or "5:1" for an instance of it.
func AppendIndex(dst []byte, gpu, instance int) []byte {
	dst = strconv.AppendInt(dst, int64(gpu), 10)
	if instance > 0 {
		dst = append(dst, ':')
		dst = strconv.AppendInt(dst, int64(instance), 10)
	}
	return dst
}
