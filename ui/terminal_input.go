package ui

import "os"

// terminalInput is the keyboard. It adds two things to the file: it tells when
// the terminal has gone, because Bubble Tea takes an end of file for silence
// and would run on; and it tells of each Ctrl-C, so that one can be answered
// even when the event loop does not come to it.
type terminalInput struct {
	*os.File
	ended       func()
	interrupted func()
}

// Ctrl-C as terminals send it: the control character, and the kitty keyboard
// protocol's report of the key.
const (
	ctrlC      = "\x03"
	ctrlCKitty = "\x1b[99;5u"
)

// Read implements io.Reader.
func (i *terminalInput) Read(p []byte) (int, error) {
	n, err := i.File.Read(p)
	if n == 0 && err != nil {
		i.ended()
	}
	if typed := string(p[:n]); typed == ctrlC || typed == ctrlCKitty {
		i.interrupted()
	}
	return n, err
}
