package probe

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	othersInterval = 10 * time.Second
	maxOthers      = 512
	// A directory may contain millions of names: no more than this are read of
	// it at a time. A probe whose socket comes after them is found if the driver
	// lists its process.
	maxNamesRead      = 16 << 10
	maxTemporaryNames = 64 << 10 // read of /tmp, to find users' directories
)

// findOthers finds other users' directories, for root. Anybody may create any
// name in /tmp, so a directory must belong to the user that it is named for:
// otherwise one user could fill the list.
func (m *Monitor) findOthers() {
	found := make(map[string]uint32)
	for _, parent := range []struct{ path, prefix, below string }{
		{"/run/user", "", directoryName}, {"/tmp", directoryName + "-", ""},
	} {
		for _, name := range namesIn(parent.path, parent.prefix) {
			uid, ok := parseUser(strings.TrimPrefix(name, parent.prefix))
			if !ok || uid == m.finder.uid || len(found) >= maxOthers {
				continue
			}
			path := filepath.Join(parent.path, name, parent.below)
			if owner, ok := ownerAt(path); ok && owner == uid {
				found[path] = uid
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
	if !maps.Equal(m.others, found) {
		m.others = found
		m.scanNow()
	}
}

// parseUser reads a user ID as Directories writes it. With leading zeros one user
// could have many directories.
func parseUser(text string) (uint32, bool) {
	uid, err := strconv.ParseUint(text, 10, 32)
	return uint32(uid), err == nil && strconv.FormatUint(uid, 10) == text
}

// namesIn lists the names in a directory that begin with prefix.
func namesIn(path, prefix string) []string {
	dir, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	const batch = 1024
	var found []string
	for range maxTemporaryNames / batch {
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
