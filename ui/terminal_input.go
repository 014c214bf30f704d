package ui

import (
	"errors"
	"os"
	"time"

	"github.com/muesli/cancelreader"
	"golang.org/x/sys/unix"
)

// terminalInput is the keyboard.
//
// It is a term.File, which is how Bubble Tea recognises a terminal, but on
// purpose not a cancelreader.File: Bubble Tea would then wait for keys in an
// epoll of its own and close that while it is still being waited on. Here a
// read is given up with a deadline, and nobody is left behind.
//
// It tells when the terminal has gone, because Bubble Tea takes an end of file
// for silence and would run on; and it tells of each Ctrl-C, so that one can
// be answered even when the event loop does not come to it.
type terminalInput struct {
	file        *os.File // whose descriptor is asked for modes
	device      *os.File // the same terminal, opened anew so that a read can be given up
	ended       func(error)
	interrupted func()
}

func newTerminalInput(file *os.File, ended func(error), interrupted func()) *terminalInput {
	return &terminalInput{file: file, device: reopened(file, unix.O_RDONLY), ended: ended, interrupted: interrupted}
}

// Ctrl-C as terminals send it: the control character, and the kitty keyboard
// protocol's report of the key.
const (
	ctrlC      = "\x03"
	ctrlCKitty = "\x1b[99;5u"
)

// Read implements io.Reader.
func (i *terminalInput) Read(p []byte) (int, error) {
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

// Pause ends the read that is waiting, and every one until Resume. Keys that
// are typed meanwhile are not lost. A terminal that could not be opened anew
// cannot be paused: its read ends with the next key.
func (i *terminalInput) Pause() { i.deadline(time.Now()) }

// Resume lets reads wait for keys again.
func (i *terminalInput) Resume() { i.deadline(time.Time{}) }

func (i *terminalInput) deadline(at time.Time) {
	if i.device != i.file {
		_ = i.device.SetReadDeadline(at) // it could be set when the device was opened
	}
}

// Release ends all reading.
func (i *terminalInput) Release() {
	i.Pause()
	if i.device != i.file {
		_ = i.device.Close() // it was only read from
	}
}

// Fd implements term.File.
func (i *terminalInput) Fd() uintptr { return i.file.Fd() }

// Write implements term.File; nothing is written to the keyboard.
func (i *terminalInput) Write([]byte) (int, error) { return 0, os.ErrPermission }

// Close implements term.File; the file belongs to the caller of Run.
func (i *terminalInput) Close() error { return nil }
