package doctor

import (
	"errors"
	"fmt"
	"strconv"

	"vramscope/cli/launch"
	"vramscope/internal/text"
	"vramscope/probe/preload"
)

// native is whether CUDA programs that are not Python can be given a probe
// here, and which of those that run now could not have been.
func (b *Box) native() []finding {
	if b.Snapshot.Simulated {
		return nil
	}
	err := b.CacheErr
	switch {
	case errors.Is(err, preload.ErrNoLibrary):
		return []finding{{verdict: neither, what: "native", text: err.Error()}}
	case err != nil:
		return []finding{{verdict: fails, what: "native", text: "no probe for native programs: " + text.Clean(err.Error()),
			next: []string{"XDG_CACHE_HOME=DIR vramscope run …   puts its files into another directory"}}}
	}
	found := []finding{{verdict: works, what: "native", text: "CUDA programs started with vramscope run get a probe"}}
	seen := map[int]bool{}
	for i := range b.Snapshot.Rows {
		p := &b.Snapshot.Rows[i]
		pid := p.ID.Process.PID
		if p.Probe != nil || seen[pid] || p.ID.Process.Foreign() {
			continue
		}
		seen[pid] = true
		why := launch.NativeObstacle(pid)
		if why == "" {
			continue
		}
		if len(found) > mostProblems {
			found = append(found, finding{verdict: neither, what: "more", text: "others cannot get one either"})
			break
		}
		found = append(found, finding{verdict: neither, what: "PID " + strconv.Itoa(pid),
			text: fmt.Sprintf("no probe can be preloaded into %s: %s", oneWord(p.Name), why)})
	}
	return found
}
