package cli

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/sampler"
	"vramscope/sampler/store"
	"vramscope/ui"
)

// handover is what a process has left to the one that took its place.
type handover struct {
	history io.Reader
	file    *os.File // behind history; nil where nothing could be kept
	at      time.Time
}

// handover is what this process goes on from, nil where it was simply started.
func (p *program) handover() *handover {
	value := p.getenv(restartVariable)
	if value == "" {
		return nil
	}
	// It is for this process alone, not for those that it starts.
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
		h.history = h.file
	}
	// Where the program's file had been replaced too, the running one was
	// executed by another name.
	_ = os.WriteFile("/proc/self/comm", []byte(filepath.Base(os.Args[0])), 0) // only how ps names it
	return h
}

// The section of the viewpoint, which comes after the history. Fields may come
// and go without a new version, as gob matches them by name.
const (
	viewKind    = "view"
	viewVersion = 1
)

// viewpoint is what was being looked at; nil where that cannot be told. The
// history has been read by then, which it lies behind.
func (h *handover) viewpoint() *ui.Viewpoint {
	if h == nil || h.file == nil {
		return nil
	}
	content, err := store.ReadSection(h.file, viewKind, viewVersion)
	if err != nil {
		return nil // another version's, or the history was not read to its end: the screen begins anew
	}
	view := new(ui.Viewpoint)
	if err := gob.NewDecoder(strings.NewReader(content)).Decode(view); err != nil {
		return nil
	}
	return view
}

// saveView writes the viewpoint after the history.
func saveView(w io.Writer, view *ui.Viewpoint) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(view); err != nil {
		return fmt.Errorf("viewpoint: %w", err)
	}
	return store.WriteSection(w, viewKind, viewVersion, b.Bytes())
}

// close gives the memory of the history back.
func (h *handover) close() {
	if h.file != nil {
		_ = h.file.Close() // it was only read from
	}
}

// nothingKept is the history of a process that could not keep one.
type nothingKept struct{}

// Read fails.
func (nothingKept) Read([]byte) (int, error) {
	return 0, errors.New("there was no memory to keep it in")
}

// historySeals say that a file in memory is complete.
const historySeals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// keepHistory saves the history, and what was being looked at where that is
// known, into a file that exists in memory alone, so that a full disk is no
// obstacle, and that the next program inherits.
func keepHistory(sampling *sampler.Sampler, view *ui.Viewpoint) (fd int, err error) {
	fd, err = unix.MemfdCreate("vramscope-history", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return 0, fmt.Errorf("a file in memory: %w", err)
	}
	if err := sampling.Save(descriptor(fd)); err != nil {
		_ = unix.Close(fd) // nothing in it is wanted
		return 0, err
	}
	if view != nil {
		_ = saveView(descriptor(fd), view) // a screen that begins anew is no reason to lose the history
	}
	_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, historySeals)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0)
	}
	if err != nil {
		_ = unix.Close(fd) // it would not be recognised
		return 0, fmt.Errorf("a file in memory: %w", err)
	}
	return fd, nil
}

// openHistory opens what keepHistory has left; nil where it is something else.
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

// descriptor is a file that no finalizer closes.
type descriptor int

// Write implements io.Writer.
func (d descriptor) Write(p []byte) (int, error) {
	written := 0
	for written < len(p) {
		n, err := unix.Write(int(d), p[written:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return written, fmt.Errorf("a file in memory: %w", err)
		}
		written += n
	}
	return written, nil
}
