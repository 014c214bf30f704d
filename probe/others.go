package probe

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	othersEvery = 10 * time.Second
	maxOthers   = 512
	// /tmp may hold millions of files: so many names of it are read.
	maxNamesRead = 64 << 10
)

// findOthers finds other users' directories, for root.
func (m *Monitor) findOthers() {
	found := make(map[string]uint32)
	for _, place := range []struct{ directory, prefix, below string }{
		{"/run/user", "", directoryName}, {"/tmp", directoryName + "-", ""},
	} {
		for _, name := range namesIn(place.directory, place.prefix) {
			uid, err := strconv.ParseUint(strings.TrimPrefix(name, place.prefix), 10, 32)
			if err == nil && len(found) < maxOthers && uint32(uid) != m.finder.uid {
				found[filepath.Join(place.directory, name, place.below)] = uint32(uid)
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for path := range m.others {
		if _, still := found[path]; !still {
			m.forget(path, nil)
		}
	}
	m.others = found
}

// namesIn lists names of a directory that may be very large.
func namesIn(path, prefix string) []string {
	dir, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	const batch = 1024
	var found []string
	for range maxNamesRead / batch {
		names, err := dir.Readdirnames(batch)
		for _, name := range names {
			if strings.HasPrefix(name, prefix) {
				found = append(found, name)
			}
		}
		if err != nil {
			break
		}
	}
	return found
}
