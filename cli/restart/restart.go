package restart

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/cli/command"
	"vramscope/cli/sources"
	"vramscope/guard"
	"vramscope/nvml"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
)

// When the driver is upgraded under a running monitor, the process still uses
// the old library, which the new driver refuses. The monitor replaces itself with a new
// process, which starts with the past that a daemon has recorded, if any:
//
//	Open fails, and the library on disk is another ─→ ctx ends in ErrUpgraded
//	  ─→ the screen ends, the terminal is as it was ─→ exec, same arguments ─→ handover
//
// A daemon also does this to read a new configuration. It hands the state of its guard over: pause,
// back-offs, breakers, the actions of the last minute.

// ErrUpgraded ends a monitor or a daemon: only a new process can read the upgraded driver.
var ErrUpgraded = errors.New("the driver was upgraded")

const (
	// variable is set for a restarted process: to the descriptor of the guard's state ("-"
	// for none), the Unix time of the restart, and the reason.
	variable = "VRAMSCOPE_RESTART"

	// pause is the shortest time from any restart to one for the driver.
	pause = 2 * time.Minute
)

type upgradeWatch struct {
	sampler.DeviceReader
	library interface{ NeedsRestart(error) bool }
	since   time.Time // when the last restart was; zero if there was none
	now     func() time.Time
	act     func() // must not block
}

// WatchUpgrades makes src call cancel with ErrUpgraded after an upgrade of the driver.
func WatchUpgrades(src *sources.Set, previous *Handover, cancel func(error)) {
	if src.Library == nil {
		return
	}
	w := &upgradeWatch{DeviceReader: src.Options.Devices, library: src.Library, now: src.Program.Now, act: func() { cancel(ErrUpgraded) }}
	if previous != nil {
		w.since = previous.At
	}
	src.Options.Devices = w
}

func (w *upgradeWatch) Open() (nvml.Driver, []nvml.Device, error) {
	driver, devices, err := w.DeviceReader.Open()
	age := w.now().Sub(w.since) // negative if the clock was set back
	if err != nil && w.library.NeedsRestart(err) && (age >= pause || age < 0) {
		w.act()
	}
	return driver, devices, err
}

// Now replaces this process for a reason, ErrUpgraded or daemon.ErrReload. It returns only if this
// process cannot be replaced. kept is the state of a daemon's guard; nil: there is none.
func Now(p *command.Program, why error, kept *guard.Kept) error {
	if errors.Is(why, ErrUpgraded) {
		why = ErrUpgraded // without errors joined to it
	}
	number := "-"
	if kept != nil {
		if file, err := writeKept(kept); err == nil {
			defer func() { _ = file.Close() }() // only if the restart fails
			number = strconv.Itoa(int(file.Fd()))
		}
	}
	environ := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, variable+"=") })
	environ = append(environ, fmt.Sprintf("%s=%s %d %s", variable, number, p.Now().Unix(), why))
	err := syscall.Exec("/proc/self/exe", os.Args, environ) // works even if the file was removed or replaced
	return command.Fail("%v, but vramscope could not restart itself for it: %w", why, err).Then("  start it again")
}

// Handover is the state that a process passes on to its successor.
type Handover struct {
	At   time.Time
	why  string
	Kept *guard.Kept // nil: there was no guard, or it could not be kept
}

// Previous returns the state that the previous process handed over; nil if there was none.
func Previous(p *command.Program) *Handover {
	value := p.Getenv(variable)
	if value == "" {
		return nil
	}
	_ = os.Unsetenv(variable) // children do not inherit it; fails only for an invalid name
	number, rest, _ := strings.Cut(value, " ")
	second, why, _ := strings.Cut(rest, " ")
	restarted, err := strconv.ParseInt(second, 10, 64)
	if err != nil {
		return nil
	}
	// The name that ps shows would be "exe", from /proc/self/exe.
	_ = os.WriteFile("/proc/self/comm", []byte(filepath.Base(os.Args[0])), 0) // only for ps
	h := &Handover{At: time.Unix(restarted, 0), why: why}
	if fd, err := strconv.Atoi(number); err == nil {
		h.Kept = readKept(fd)
	}
	return h
}

// TakeOver notes in a sampler that the process was restarted for an upgraded driver. h may be nil.
func (h *Handover) TakeOver(sampling *sampler.Sampler) {
	if h != nil && h.why == ErrUpgraded.Error() {
		sampling.Note(snapshot.Event{Time: h.At, Kind: snapshot.EventDriverBack, Severity: snapshot.Notice, Message: h.why + "; restarted to read it"})
	}
}

// writeKept writes the state of a guard into a file in memory that the next process inherits.
func writeKept(kept *guard.Kept) (*os.File, error) {
	content, err := json.Marshal(kept)
	if err != nil {
		return nil, err
	}
	fd, err := unix.MemfdCreate("vramscope-guard", 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "guard")
	if _, err := file.Write(content); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// readKept reads the file of writeKept; nil if that cannot be read.
func readKept(fd int) *guard.Kept {
	file := os.NewFile(uintptr(fd), "guard")
	defer func() { _ = file.Close() }() // nothing was written
	kept := new(guard.Kept)
	if _, err := file.Seek(0, io.SeekStart); err != nil || json.NewDecoder(file).Decode(kept) != nil {
		return nil // perhaps another version wrote it
	}
	return kept
}
