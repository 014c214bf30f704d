package monitor

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"time"

	"vramscope/internal/install"
	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

// seenFile says which incidents a user has seen: {"out_of_memory GPU-… 4711.99": "2026-11-20T12:04:17Z"}.
const seenFile = "seen.json"

// readSeen are the incidents that the user has seen. A file that cannot be read has none.
func readSeen(directory string) map[string]time.Time {
	const maxFile = 1 << 20
	var seen map[string]time.Time
	content, err := process.ReadLimited(filepath.Join(directory, seenFile), maxFile)
	if directory == "" || err != nil || json.Unmarshal(content, &seen) != nil || seen == nil {
		return make(map[string]time.Time)
	}
	return seen
}

// keepSeen adds to the file what was seen; another screen may have written it. What no screen
// shows any more is dropped.
func keepSeen(directory string, seen map[string]time.Time, now time.Time) error {
	if directory == "" {
		return install.ErrNoHome
	}
	all := readSeen(directory)
	for key, at := range seen {
		if at.After(all[key]) {
			all[key] = at
		}
	}
	maps.DeleteFunc(all, func(_ string, at time.Time) bool { return now.Sub(at) > snapshot.IncidentTime })
	content, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return err
	}
	return install.File(filepath.Join(directory, seenFile), content, 0o600)
}
