package cell

import (
	"slices"
	"strconv"
	"time"

	"vramscope/sampler/snapshot"
)

// Minutes returns "10 min", or "40 s" below a minute.
func Minutes(d time.Duration) string {
	if d < time.Minute {
		return strconv.Itoa(int(d/time.Second)) + " s"
	}
	return strconv.Itoa(int(d/time.Minute)) + " min"
}

func SizesKnown(caches []snapshot.Evictable) bool {
	return slices.ContainsFunc(caches, func(c snapshot.Evictable) bool { return c.Bytes.Known() })
}

// SizeOf returns a size in running text.
func SizeOf(size snapshot.Bytes, unknown string) string {
	if v, ok := size.Value(); ok {
		return v.String()
	}
	return unknown
}
