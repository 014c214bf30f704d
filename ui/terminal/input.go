package terminal

import (
	"errors"
	"os"
	"time"

	"github.com/muesli/cancelreader"
	"golang.org/x/sys/unix"
)

// input is the keyboard.
//
// It is a term.File, which is how Bubble Tea recognises a terminal, but on
// purpose not a cancelreader.File: Bubble Tea would then wait for keys in an
// epoll of its own and close that while it is still being waited on. Here a
// deadline ends a read, so that no goroutine is left behind.
//
// It reports the end of the terminal, because Bubble Tea takes an end of file
// for silence and would run on, and each Ctrl-C, so that one can be answered
// even when the event loop hangs.
type input struct {
	file        *os.File // whose descriptor is asked for modes
	device      *os.File // the same terminal, opened again so that a read can be ended
	ended       func(error)
	interrupted func()
}

func newInput(file *os.File, ended func(error), interrupted func()) *input {
	return &input{file: file, device: reopened(file, unix.O_RDONLY), ended: ended, interrupted: interrupted}
}

// Ctrl-C as terminals send it: the control character, and the kitty keyboard
// protocol's report of the key.
const (
	ctrlC      = "\x03"
	ctrlCKitty = "\x1b[99;5u"
)

func (i *input) Read(p []byte) (int, error) {
	n, err := i.device.Read(p)
	if typed := string(p[:n]); typed == ctrlC || typed == ctrlCKitty {
		i.interrupted()
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, cancelreader.ErrCanceled
	case err != nil && n == 0:
		i.ended(errHungUp)
	}
	return n, err
}

// pause ends the read that is waiting, and every one until resume. Keys that
// are typed meanwhile are not lost. A terminal that could not be opened again
// cannot be paused: its read ends with the next key.
func (i *input) pause() { i.deadline(time.Now()) }

// resume lets reads wait for keys again.
func (i *input) resume() { i.deadline(time.Time{}) }

func (i *input) deadline(at time.Time) {
	if i.device != i.file {
		_ = i.device.SetReadDeadline(at) // it could be set when the device was opened
	}
}

// release ends all reading.
func (i *input) release() {
	i.pause()
	if i.device != i.file {
		_ = i.device.Close() // it was only read from
	}
}

func (i *input) Fd() uintptr { return i.file.Fd() }

// Write implements term.File; nothing is written to the keyboard.
func (i *input) Write([]byte) (int, error) { return 0, os.ErrPermission }

// Close implements term.File; the file belongs to the caller of open.
func (i *input) Close() error { return nil }
