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

// BoxState is the default directory of root's recordings and audit log.
const BoxState = "/var/lib/vramscope"

// TakeState makes root's daemon keep its state in STATE_DIRECTORY. Other users' daemons ignore the
// variable, because its path in their units depends on the version of systemd. Source:
// https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html, StateDirectory=
func (p *Program) TakeState() {
	given, _, _ := strings.Cut(p.Getenv("STATE_DIRECTORY"), ":")
	if os.Geteuid() == 0 && filepath.IsAbs(given) {
		p.state = filepath.Clean(given)
	}
}

// RecordingsOf returns the directory of this user's recordings, or of those of a simulated box.
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

// LogDirectory returns the directory of this user's audit log. Root's is the state directory, unless
// XDG_STATE_HOME names one that root owns.
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

// Daemons returns the places to look in for daemons' sockets.
func (p *Program) Daemons() []socket.Place {
	if p.DaemonPlaces != nil {
		return p.DaemonPlaces
	}
	return socket.Places(p.Getenv)
}

// StateHome returns the directory vramscope in $XDG_STATE_HOME or ~/.local/state; "" if this user owns neither.
func StateHome() string {
	base, err := install.Own(install.Bases(os.Getenv, "XDG_STATE_HOME", ".local/state"))
	if err != nil {
		return ""
	}
	return filepath.Join(base, "vramscope")
}
