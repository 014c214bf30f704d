package quantity

import (
	"strconv"
	"strings"
	"time"
)

// AppendDuration writes one or two units in at most 6 cells: "58s", "4m10s", "2h23m", "1d06h", "41d".
func AppendDuration(dst []byte, d time.Duration) []byte {
	s := int64(max(d, 0) / time.Second)
	pair := func(big, small int64, bigUnit, smallUnit byte) []byte {
		dst = append(strconv.AppendInt(dst, big, 10), bigUnit)
		if small < 10 {
			dst = append(dst, '0')
		}
		return append(strconv.AppendInt(dst, small, 10), smallUnit)
	}
	const minute, hour, day = 60, 60 * 60, 24 * 60 * 60
	switch {
	case s < minute:
		return append(strconv.AppendInt(dst, s, 10), 's')
	case s < hour:
		return pair(s/minute, s%minute, 'm', 's')
	case s < day:
		return pair(s/hour, s%hour/minute, 'h', 'm')
	case s < 10*day:
		return pair(s/day, s%day/hour, 'd', 'h')
	default:
		return append(strconv.AppendInt(dst, min(s/day, 99999), 10), 'd')
	}
}

// Duration returns AppendDuration as a string.
func Duration(d time.Duration) string { return string(AppendDuration(nil, d)) }

// BriefDuration returns a duration's String without zero units at its end: "5m", "2h".
func BriefDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
