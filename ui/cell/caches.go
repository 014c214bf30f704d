package cell

import (
	"slices"
	"strings"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// CachesInWords returns "kv_cache 2.31G, loader –", and whether any size is known. If none is known, the words have no
// sizes. The function after returns a text to write after a cache.
func CachesInWords(caches []snapshot.Evictable, unknown string, after func(*snapshot.Evictable) string) (words string, sizes bool) {
	sizes = slices.ContainsFunc(caches, func(c snapshot.Evictable) bool { return c.Bytes.Known() })
	all := make([]string, len(caches))
	for i := range caches {
		all[i] = text.Clean(Limit(caches[i].Name))
		if sizes {
			all[i] += " " + string(AppendBytes(nil, caches[i].Bytes, unknown))
		}
		all[i] += after(&caches[i])
	}
	return strings.Join(all, ", "), sizes
}
