package socket

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
)

// Share is who, besides root and the daemon's user, may read numbers. The kernel
// enforces it: it is the mode and the group of the socket.
type Share struct {
	mode  os.FileMode
	group int // -1: the daemon's own
}

// ParseShare reads "none", "all" or "group:NAME".
func ParseShare(value string) (Share, error) {
	switch value {
	case "", "none":
		return Share{0o600, -1}, nil
	case "all":
		return Share{0o666, -1}, nil
	}
	name, named := strings.CutPrefix(value, "group:")
	if !named {
		return Share{}, fmt.Errorf("share: %q is neither none, nor all, nor group:NAME", value)
	}
	found, err := user.LookupGroup(name)
	if err != nil {
		return Share{}, fmt.Errorf("share: there is no group %q: %w", name, err)
	}
	id, err := strconv.Atoi(found.Gid)
	if err != nil {
		return Share{}, fmt.Errorf("share: group %q: %w", name, err)
	}
	return Share{0o660, id}, nil
}

// apply opens the socket to those that it is shared with. It was made with mode 0600.
func (s Share) apply(path string) error {
	if s.group >= 0 {
		if err := os.Lchown(path, -1, s.group); err != nil {
			return fmt.Errorf("share: %w", err)
		}
	}
	return os.Chmod(path, s.mode) // the directory is its owner's alone: no link can be there
}

// open reports whether others may connect at all.
func (s Share) open() bool { return s.mode&0o066 != 0 }
