package cli

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"time"

	"vramscope/action"
	"vramscope/internal/process"
)

// boxState is where root's state is, where its unit can write: recordings and the
// audit log.
const boxState = "/var/lib/vramscope"

// takeState has a daemon keep its state in the directory that root's unit gives. A
// user's would be in another place with each systemd, where no other command looks.
// Source: https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html, StateDirectory=
func (p *program) takeState() {
	given, _, _ := strings.Cut(p.getenv("STATE_DIRECTORY"), ":")
	if os.Geteuid() == 0 && filepath.IsAbs(given) {
		p.state = filepath.Clean(given)
	}
}

// recordingsOf is where recordings are kept: root's are the box's. Those of a
// simulated box are apart.
func (p *program) recordingsOf(simulated bool) string {
	if p.recordings != "" {
		return p.recordings
	}
	directory := cmp.Or(p.state, boxState)
	if os.Geteuid() != 0 {
		directory = filepath.Join(stateHome(), "recordings")
	}
	if simulated {
		directory = filepath.Join(directory, "simulated")
	}
	return directory
}

// logDirectory is where this user's audit log is: root's is the box's, but for an
// XDG_STATE_HOME of root's own.
func (p *program) logDirectory() string {
	home := stateHome()
	if named := os.Getenv("XDG_STATE_HOME"); os.Geteuid() != 0 || filepath.IsAbs(named) && home == filepath.Join(named, "vramscope") {
		return home
	}
	return cmp.Or(p.state, boxState)
}

func (p *program) auditLog(table *process.Table) *action.Log {
	return &action.Log{Directory: p.logDirectory(), User: func() string { return table.Host(time.Time{}).User }, Clock: p.now}
}
