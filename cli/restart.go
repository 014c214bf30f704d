package cli

import (
	"bufio"
	"encoding/gob"
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

	"vramscope/guard"
	"vramscope/nvml"
	"vramscope/sampler"
	"vramscope/ui"
)

// When the driver is upgraded under a running monitor, the process still has the
// old library, which the new driver refuses. The monitor replaces itself by a new
// process and keeps its history:
//
//	Open fails, and the library on disk is another ─→ ctx ends in errUpgraded
//	  ─→ the screen ends, the terminal is as it was ─→ history and viewpoint into memory ─→ exec, same arguments
//	  ─→ handover ─→ sampler.Options.Restore, ui.Options.Resume ─→ the screen goes on
//
// A dialog or a moment of the past is not kept.

// errUpgraded ends a monitor whose driver only a new process can read.
var errUpgraded = errors.New("the driver was upgraded")

const (
	// restartVariable is what a restarted process continues from: the descriptor
	// of the history, "-" for none, and the Unix time of the restart.
	restartVariable = "VRAMSCOPE_RESTART"

	// restartPause is how long a restarted monitor does not restart again.
	restartPause = 2 * time.Minute
)

type upgradeWatch struct {
	sampler.DeviceReader
	library interface{ NeedsRestart(error) bool }
	since   time.Time // of the last restart, zero where there was none
	now     func() time.Time
	act     func() // does not wait
}

// watchUpgrades calls cancel with errUpgraded when the driver was upgraded.
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

func (w *upgradeWatch) Open() (nvml.Driver, []nvml.Device, error) {
	driver, devices, err := w.DeviceReader.Open()
	if err != nil && w.library.NeedsRestart(err) && w.mayRestart() {
		w.act()
	}
	return driver, devices, err
}

// mayRestart is false for restartPause after a restart, unless the clock is set back.
func (w *upgradeWatch) mayRestart() bool {
	age := w.now().Sub(w.since)
	return age >= restartPause || age < 0
}

// restart replaces this process; it returns only if that fails. The sampler is
// nil where it did not end in time. The view is the screen's, or a daemon's guard's.
func (p *program) restart(sampling *sampler.Sampler, view any) error {
	number := "-"
	if sampling != nil {
		if file, err := keepHistory(sampling, view); err == nil {
			defer func() { _ = file.Close() }() // only where the restart fails
			number = strconv.Itoa(int(file.Fd()))
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
		advice:  []string{"  start it again    its history is lost"},
	}
}

// executables are the files to execute, the best first: the program by its name,
// or /proc/self/exe if that file was removed or replaced.
func executables() []string {
	const running = "/proc/self/exe"
	path, err := os.Executable()
	if err != nil {
		return []string{running}
	}
	if sameFile(path, running) {
		return []string{path, running}
	}
	return []string{running, path}
}

// handover is what a process leaves to its successor.
type handover struct {
	history io.Reader
	file    *os.File // behind history; nil where nothing could be kept
	at      time.Time
}

// handover is what this process continues from; nil where it is a first one.
func (p *program) handover() *handover {
	value := p.getenv(restartVariable)
	if value == "" {
		return nil
	}
	// It is for this process alone, not for its children.
	_ = os.Unsetenv(restartVariable) // fails for no name that could be looked up
	number, second, _ := strings.Cut(value, " ")
	restarted, err := strconv.ParseInt(second, 10, 64)
	if err != nil {
		return nil
	}
	h := &handover{history: nothingKept{}, at: time.Unix(restarted, 0)}
	if number != "-" {
		fd, err := strconv.Atoi(number)
		if err != nil {
			return nil
		}
		if h.file = openHistory(fd); h.file == nil {
			return nil
		}
		h.history = bufio.NewReader(h.file) // which gob does not read beyond a value
	}
	// The process may have been executed as /proc/self/exe.
	_ = os.WriteFile("/proc/self/comm", []byte(filepath.Base(os.Args[0])), 0) // only how ps names it
	return h
}

// viewpoint is the view of the screen; nil where it is unknown. It lies behind
// the history, which has been read by then.
func (h *handover) viewpoint() *ui.Viewpoint {
	if h == nil || h.file == nil {
		return nil
	}
	view := new(ui.Viewpoint)
	if err := gob.NewDecoder(h.history).Decode(view); err != nil {
		return nil // another version's, or the history was not read to its end
	}
	return view
}

// guardKept is what a daemon's guard continues from; false where it is not known.
func (h *handover) guardKept() (kept guard.Kept, ok bool) {
	if h == nil || h.file == nil {
		return kept, false
	}
	err := gob.NewDecoder(h.history).Decode(&kept)
	return kept, err == nil
}

func (h *handover) close() {
	if h != nil && h.file != nil {
		_ = h.file.Close() // it was only read from
	}
}

// nothingKept is the history of a process that could not keep one.
type nothingKept struct{}

func (nothingKept) Read([]byte) (int, error) {
	return 0, errors.New("there was no memory to keep it in")
}

// historySeals mark a complete file.
const historySeals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// keepHistory saves history and view into a file in memory that the next process inherits.
func keepHistory(sampling *sampler.Sampler, view any) (*os.File, error) {
	fd, err := unix.MemfdCreate("vramscope-history", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("a file in memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), "history")
	if err := sampling.Save(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if view != nil {
		_ = gob.NewEncoder(file).Encode(view) // the history is worth keeping without it
	}
	_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, historySeals)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("a file in memory: %w", err), file.Close())
	}
	return file, nil
}

// openHistory opens what keepHistory saved; nil where it is something else.
func openHistory(fd int) *os.File {
	if seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0); err != nil || seals&historySeals != historySeals {
		return nil
	}
	unix.CloseOnExec(fd)
	file := os.NewFile(uintptr(fd), "history")
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		_ = file.Close() // it cannot be read
		return nil
	}
	return file
}
