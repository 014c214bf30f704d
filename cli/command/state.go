package command

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"time"

	"vramscope/action"
	"vramscope/daemon/socket"
	"vramscope/internal/install"
	"vramscope/internal/process"
)

// BoxState is where root keeps its state, and where root's unit can write: recordings, the audit log.
const BoxState = "/var/lib/vramscope"

// TakeState makes a daemon keep its state in the directory that root's unit names. A user's unit
// names a different one in each version of systemd, where no other command looks. Source:
// https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html, StateDirectory=
func (p *Program) TakeState() {
	given, _, _ := strings.Cut(p.Getenv("STATE_DIRECTORY"), ":")
	if os.Geteuid() == 0 && filepath.IsAbs(given) {
		p.state = filepath.Clean(given)
	}
}

// RecordingsOf returns the directory of the recordings. Root's are of the whole box; a simulated
// box has its own.
func (p *Program) RecordingsOf(simulated bool) string {
	if p.Recordings != "" {
		return p.Recordings
	}
	directory := cmp.Or(p.state, BoxState)
	if os.Geteuid() != 0 {
		directory = filepath.Join(StateHome(), "recordings")
	}
	if simulated {
		directory = filepath.Join(directory, "simulated")
	}
	return directory
}

// LogDirectory returns where this user's audit log is. Root's is with the box's state, unless
// XDG_STATE_HOME names a directory of root's own.
func (p *Program) LogDirectory() string {
	home := StateHome()
	if named := os.Getenv("XDG_STATE_HOME"); os.Geteuid() != 0 || filepath.IsAbs(named) && home == filepath.Join(named, "vramscope") {
		return home
	}
	return cmp.Or(p.state, BoxState)
}

// AuditLog returns this user's audit log. Without a table the log can only be read.
func (p *Program) AuditLog(table *process.Table) *action.Log {
	return &action.Log{Directory: p.LogDirectory(), User: func() string { return table.Host(time.Time{}).User }, Clock: p.Now}
}

// Daemons returns the places in which daemons' sockets are looked for.
func (p *Program) Daemons() []socket.Place {
	if p.DaemonPlaces != nil {
		return p.DaemonPlaces
	}
	return socket.Places(p.Getenv)
}

// StateHome returns $XDG_STATE_HOME/vramscope, "" where this user has no directory.
func StateHome() string {
	base, err := install.Own(install.Bases(os.Getenv, "XDG_STATE_HOME", ".local/state"))
	if err != nil {
		return ""
	}
	return filepath.Join(base, "vramscope")
}
