package monitor

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/internal/install"
	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
	"vramscope/ui"
)

// saveSnapshot writes a snapshot as once --format json does, to a file named for its time.
func saveSnapshot(directory string, snap *snapshot.Snapshot) (path string, err error) {
	content, err := schema.Encode(schema.Of(snap))
	if err != nil {
		return "", fmt.Errorf("snapshot not saved: %w", err)
	}
	return saveFile(directory, "snapshot", ".json", snap.Time, content)
}

// saveFile writes a file that is named for its time, to the millisecond. It leaves no incomplete file.
func saveFile(directory, kind, suffix string, at time.Time, content []byte) (path string, err error) {
	path = filepath.Join(directory, kind+"-"+at.Format("20060102-150405.000")+suffix)
	if directory == "" {
		err = install.ErrNoHome
	} else if err = os.MkdirAll(directory, 0o700); err == nil { // command lines are private
		err = install.File(path, content, 0o600)
	}
	if err != nil { // the directory comes last: a narrow screen cuts it, not the reason
		return "", fmt.Errorf("%s not saved: %w: %s", kind, command.WithoutPath(err), directory)
	}
	return path, nil
}

// saveSettings writes the settings of the monitor's setup to the configuration file.
func saveSettings(p *command.Program, set ui.Settings) (string, error) {
	path := p.ConfigPath()
	keys := []string{"theme", "mouse", "graph_window", "graph_style", "bell", "columns", "sort", "sort_reversed"}
	if set.Interval > 0 {
		keys = append(keys, "interval")
	}
	style := config.Area
	if set.Lines {
		style = config.Lines
	}
	return path, config.Save(path, func(s *config.Settings) {
		s.Theme, s.Mouse, s.GraphWindow, s.GraphStyle, s.Bell, s.Columns, s.Sort, s.Reversed =
			set.Theme, set.Mouse, set.Window, style, set.Bell, set.Columns, set.Sort, set.Reversed
		if set.Interval > 0 {
			s.Interval = set.Interval
		}
	}, keys)
}

// seenFile says which incidents a user has seen: {"out_of_memory GPU-… 4711.99": "2026-11-20T12:04:17Z"}.
const seenFile = "seen.json"

// readSeen returns the incidents that the user has seen. A file that cannot be read has none.
func readSeen(directory string) map[string]time.Time {
	const maxFile = 1 << 20
	var seen map[string]time.Time
	content, err := process.ReadLimited(filepath.Join(directory, seenFile), maxFile)
	if directory == "" || err != nil || json.Unmarshal(content, &seen) != nil || seen == nil {
		return make(map[string]time.Time)
	}
	return seen
}

// keepSeen adds the seen incidents to those in the file. It drops the ones that are older than
// snapshot.IncidentTime, which no screen shows.
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
