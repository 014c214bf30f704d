package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"vramscope/nvml"
	"vramscope/sampler"
	"vramscope/ui"
)

// A driver that is upgraded under a running monitor. A process keeps the
// driver's library that it has loaded, and the new driver refuses the old
// library: only another process can read on. So the monitor replaces itself,
// and takes its history along:
//
//	Open fails, and the library on disk is another ─→ ctx ends in errUpgraded
//	  ─→ the screen ends, the terminal is as it was ─→ history and viewpoint into memory ─→ exec, same arguments
//	  ─→ handover ─→ sampler.Options.Restore, ui.Options.Resume ─→ the screen goes on
//
// A dialog or a moment of the past is not taken along: there is another driver
// now, and what they were about has to be looked at anew.

// errUpgraded ends a monitor whose driver only a new process can read.
var errUpgraded = errors.New("the driver was upgraded")

const (
	// restartVariable tells a process what it goes on from: the number of the
	// file that holds the history, "-" for none, and the second of the restart.
	restartVariable = "VRAMSCOPE_RESTART"

	// restartPause is how long a restarted monitor does not restart again,
	// whatever becomes of the library: it must not spend its time on that.
	restartPause = 2 * time.Minute
)

// upgradeWatch is a driver that is watched for an upgrade.
type upgradeWatch struct {
	sampler.DeviceReader
	library interface{ NeedsRestart(error) bool }
	since   time.Time // of the last restart, zero where there was none
	now     func() time.Time
	act     func() // does not wait
}

// watchUpgrades has cancel called with errUpgraded when the driver was upgraded
// and this process can be replaced.
func (p *program) watchUpgrades(src *sources, previous *handover, cancel func(error)) {
	if src.library == nil {
		return
	}
	w := &upgradeWatch{DeviceReader: src.options.Devices, library: src.library, now: p.now, act: func() { cancel(errUpgraded) }}
	if previous != nil {
		w.since = previous.at
	}
	src.options.Devices = w
}

// Open implements sampler.DeviceReader.
func (w *upgradeWatch) Open() (nvml.Driver, []nvml.Device, error) {
	driver, devices, err := w.DeviceReader.Open()
	if err != nil && w.library.NeedsRestart(err) && w.mayRestart() {
		w.act()
	}
	return driver, devices, err
}

// mayRestart is false for a while after a restart. A clock that was set back
// does not make that longer.
func (w *upgradeWatch) mayRestart() bool {
	age := w.now().Sub(w.since)
	return age >= restartPause || age < 0
}

// restart replaces this process; it returns only where that was not possible.
// The sampler is nil where it could not be brought to rest.
func (p *program) restart(sampling *sampler.Sampler, view *ui.Viewpoint) error {
	number := "-"
	if sampling != nil {
		if fd, err := keepHistory(sampling, view); err == nil {
			number = strconv.Itoa(fd)
		}
	}
	environ := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, restartVariable+"=") })
	environ = append(environ, fmt.Sprintf("%s=%s %d", restartVariable, number, p.now().Unix()))
	var err error
	for _, path := range executables() {
		err = syscall.Exec(path, os.Args, environ)
	}
	return &failure{
		code: exitFailure, err: err,
		message: fmt.Sprintf("the driver was upgraded, and vramscope could not restart itself to read it: %v", err),
		advice:  []string{"  start it again    what it had seen so far is lost"},
	}
}

// executables are the files to execute, the best first: the program by its
// name as long as that is what is running, else what is running, which can be
// executed even where its file is gone or has been replaced by another version
// that may not know these arguments.
func executables() []string {
	const running = "/proc/self/exe"
	path, err := os.Executable()
	if err != nil {
		return []string{running}
	}
	named, err := os.Stat(path)
	now, nowErr := os.Stat(running)
	if err == nil && (nowErr != nil || os.SameFile(named, now)) {
		return []string{path, running}
	}
	return []string{running, path}
}
