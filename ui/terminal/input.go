package terminal

import (
	"errors"
	"os"
	"sync"
	"time"

	"github.com/muesli/cancelreader"
	"golang.org/x/sys/unix"
)

// input is the keyboard. It is a term.File, because Bubble Tea recognises nothing else as a terminal. It is on purpose no
// cancelreader.File: Bubble Tea would wait for keys in an epoll of its own, and close the epoll during the wait. Here a
// deadline ends a read, so that no goroutine is left behind.
//
// It reports the end of the terminal, because Bubble Tea would run on after an end of file. It reports each lone Ctrl-C,
// so that Ctrl-C works even when the event loop hangs. For that a goroutine reads ahead of Bubble Tea, which reads no
// key before the loop has taken the last.
type input struct {
	file        *os.File // asked for modes
	device      *os.File // the same terminal, opened again so that a read can be ended
	ended       func(error)
	interrupted func()

	mu      sync.Mutex
	came    sync.Cond // typed or err has changed
	typed   []byte    // read, but not yet by Bubble Tea
	err     error     // what ended the goroutine
	reading bool      // readAhead is running
	paused  bool
}

// maxAhead limits the bytes that are kept while the event loop hangs.
const maxAhead = 64 << 10

func newInput(file *os.File, ended func(error), interrupted func()) *input {
	i := &input{file: file, device: reopened(file, unix.O_RDONLY), ended: ended, interrupted: interrupted}
	i.came.L = &i.mu
	return i
}

// Ctrl-C as terminals send it: the control character, and the report of the kitty keyboard protocol.
const (
	ctrlC      = "\x03"
	ctrlCKitty = "\x1b[99;5u"
)

func (i *input) Read(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for len(i.typed) == 0 {
		canceled := errors.Is(i.err, os.ErrDeadlineExceeded)
		switch {
		case canceled && i.paused:
			i.err = nil
			return 0, cancelreader.ErrCanceled
		case i.err != nil && !canceled:
			return 0, i.err
		case !i.reading:
			i.reading, i.err = true, nil
			go i.readAhead()
		}
		i.came.Wait()
	}
	n := copy(p, i.typed)
	i.typed = i.typed[n:]
	return n, nil
}

func (i *input) readAhead() {
	buffer := make([]byte, 4096)
	for {
		n, err := i.device.Read(buffer)
		if typed := string(buffer[:n]); typed == ctrlC || typed == ctrlCKitty {
			i.interrupted()
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			i.ended(errHungUp)
		}
		i.mu.Lock()
		if len(i.typed) < maxAhead {
			i.typed = append(i.typed, buffer[:n]...)
		}
		i.err, i.reading = err, err == nil
		i.came.Broadcast()
		i.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// pause ends the waiting read, and each read until resume. Keys that are typed meanwhile are not lost. A terminal that
// could not be opened again cannot be paused: its read ends with the next key.
func (i *input) pause() { i.deadline(true, time.Now()) }

func (i *input) resume() { i.deadline(false, time.Time{}) }

func (i *input) deadline(paused bool, at time.Time) {
	i.mu.Lock()
	i.paused = paused
	i.mu.Unlock()
	if i.device != i.file {
		_ = i.device.SetReadDeadline(at) // reopened has tried that it can be set
	}
}

func (i *input) release() {
	i.pause()
	if i.device != i.file {
		_ = i.device.Close() // it was only read from
	}
}

func (i *input) Fd() uintptr { return i.file.Fd() }

// Write implements term.File; nothing is written to the keyboard.
func (i *input) Write([]byte) (int, error) { return 0, os.ErrPermission }

// Close implements term.File and does nothing: terminal.Close closes a file that open has opened.
func (i *input) Close() error { return nil }
