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

// findOthers finds the directories that are not known by name: this user's spare
// ones, and for root every user's. Anybody may create any name in /tmp, so a
// directory must belong to the user that it is named for: otherwise one user could
// fill the list.
func (m *Monitor) findOthers() {
	found := make(map[string]uint32)
	spares := make(map[uint32]int)
	for _, parent := range []struct{ path, prefix, below string }{
		{"/run/user", "", directoryName}, {temporary, directoryName + "-", ""},
	} {
		for _, name := range namesIn(parent.path, parent.prefix) {
			number, _, spare := strings.Cut(strings.TrimPrefix(name, parent.prefix), "-")
			uid, ok := parseUser(number)
			own := uid == m.finder.uid
			if !ok || own && !spare || !own && !m.everyone || spare && spares[uid] >= maxSpares || len(found) >= maxOthers {
				continue
			}
			path := filepath.Join(parent.path, name, parent.below)
			if owner, ok := ownerAt(path); ok && owner == uid {
				found[path] = uid
				if spare {
					spares[uid]++
				}
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
	return namesWith(dir, prefix)
}
