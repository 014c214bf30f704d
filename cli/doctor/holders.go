package doctor

import (
	"cmp"
	"fmt"
	"strings"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// OpenIn names the first processes that have a GPU's device file open, "" where
// there are none.
func OpenIn(holders []snapshot.Holder) string {
	if len(holders) == 0 {
		return ""
	}
	return "; its device is open in " + holderNames(holders)
}

func holderNames(holders []snapshot.Holder) string {
	const most = 3
	var names []string
	for _, h := range holders[:min(len(holders), most)] {
		names = append(names, fmt.Sprintf("%d %s (%s)", h.Process.PID, cmp.Or(text.Clean(h.Name), "?"), cmp.Or(text.Clean(h.User), "?")))
	}
	if more := len(holders) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
