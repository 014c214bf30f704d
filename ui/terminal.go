package ui

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

// ErrNoTerminal is why Run refuses: what it was given is no terminal that a
// screen can be drawn on.
var ErrNoTerminal = errors.New("not a terminal")

// terminal is the device the screen is on. It is put into raw mode before
// anything is asked of it (else the answers would be echoed), and it is left
// as it was found, whichever way the program ends.
//
//	open ─ raw ─ enter: title saved, alternate screen, questions, first frame
//	  Bubble Tea runs
//	leave: modes off, main screen, title back ─ restore termios
type terminal struct {
	input  *terminalInput
	output *terminalOutput
	traits traits
	before *term.State // the modes as they were found
	opened *os.File    // /dev/tty where the standard input is something else
	saved  atomic.Bool // the title is on the terminal's stack
}

// checkTerminal says why a screen cannot be drawn, nil where it can.
func checkTerminal(output *os.File, env environment) error {
	if !term.IsTerminal(output.Fd()) {
		return fmt.Errorf("standard output is %w", ErrNoTerminal)
	}
	if traitsOf(env).dumb {
		return fmt.Errorf("TERM=%s is %w that can be drawn on", env.lookup("TERM"), ErrNoTerminal)
	}
	return nil
}

// listeners hear, on any goroutine, what happens to the terminal. They must not
// block.
type listeners struct {
	drained     func(lost bool) // it takes output again
	ended       func(error)     // it has gone
	interrupted func()          // Ctrl-C was typed
}

// openTerminal looks at the terminal without changing it.
func openTerminal(input, output *os.File, env environment, tell listeners) (*terminal, error) {
	if err := checkTerminal(output, env); err != nil {
		return nil, err
	}
	t := &terminal{traits: traitsOf(env)}
	if !term.IsTerminal(input.Fd()) {
		tty, err := os.OpenFile("/dev/tty", os.O_RDONLY, 0)
		if err != nil {
			return nil, fmt.Errorf("standard input is %w, and there is no other keyboard: %w", ErrNoTerminal, err)
		}
		input, t.opened = tty, tty
	}
	before, err := term.GetState(input.Fd())
	if err != nil {
		return nil, fmt.Errorf("reading the modes of the terminal: %w", err)
	}
	t.before = before
	t.input = newTerminalInput(input, tell.ended, tell.interrupted)
	t.output = newTerminalOutput(output, tell.drained, tell.ended)
	return t, nil
}

// errHungUp is the end of a terminal: its window was closed, its line dropped.
var errHungUp = errors.New("the terminal has gone")

// raw takes keys one by one and unechoed.
func (t *terminal) raw() error {
	if _, err := term.MakeRaw(t.input.Fd()); err != nil {
		return fmt.Errorf("setting the terminal to raw mode: %w", err)
	}
	return nil
}

// cooked puts the modes back that the terminal was found with.
func (t *terminal) cooked() {
	// A terminal that is gone has no modes to restore.
	_ = term.Restore(t.input.Fd(), t.before)
}

// size asks the kernel, and assumes the size of a VT100 where it does not
// know, as on a serial line.
func (t *terminal) size() (width, height int) {
	if width, height, ok := t.known(); ok {
		return width, height
	}
	return 80, 24
}

// known is the size that the kernel has been told, false where it has not.
func (t *terminal) known() (width, height int, ok bool) {
	width, height, err := term.GetSize(t.output.Fd())
	return width, height, err == nil && width > 0 && height > 0
}

// enter saves the title, switches to the alternate screen, asks the questions
// and draws the first frame, all in one write. The renderer would draw it only
// at its first tick, a tenth of a second later.
func (t *terminal) enter(frame string) {
	var out []byte
	out = append(out, t.saveTitle()...)
	out = append(out, ansi.SetModeAltScreenSaveCursor+ansi.ResetModeTextCursorEnable+ansi.EraseEntireScreen...)
	out = append(out, t.questions()...)
	out = append(out, ansi.CursorHomePosition...)
	for i := range len(frame) {
		if frame[i] == '\n' {
			out = append(out, '\r') // raw mode does not do it
		}
		out = append(out, frame[i])
	}
	_, _ = t.output.Write(out) // a terminal that is gone is noticed by the output itself
}

// The title is kept on the terminal's own stack: XTWINOPS 22 and 23, see
// https://invisible-island.net/xterm/ctlseqs/ctlseqs.html.
const (
	pushTitle = "\x1b[22;2t"
	popTitle  = "\x1b[23;2t"
)

// titled reports whether the terminal has a title. Older Linux consoles print
// the sequence that sets it.
func (t *terminal) titled() bool { return !t.traits.console }

// saveTitle is what puts the title on the stack.
func (t *terminal) saveTitle() string {
	if !t.titled() {
		return ""
	}
	t.saved.Store(true)
	return pushTitle
}

// leave goes back to the main screen and the title that was there. Bubble Tea
// has left the alternate screen already if it ever drew on it; leaving it
// twice does no harm. The modes that only Bubble Tea switches on are its to
// switch off, but where it could not (aborted) that is done here, and before
// the screen changes: the keyboard protocol of the main screen is the shell's.
func (t *terminal) leave(aborted bool) {
	out := ""
	if aborted {
		out = ansi.ResetModeSynchronizedOutput +
			ansi.ResetStyle +
			ansi.ResetModifyOtherKeys +
			ansi.PopKittyKeyboard(1) +
			ansi.ResetModeMouseNormal + ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseAnyEvent + ansi.ResetModeMouseExtSgr +
			ansi.ResetModeFocusEvent +
			ansi.ResetModeBracketedPaste +
			ansi.ResetModeUnicodeCore
		if t.titled() {
			out += ansi.SetWindowTitle("")
		}
	}
	out += ansi.ResetModeAltScreenSaveCursor + ansi.SetModeTextCursorEnable
	if t.saved.Load() {
		out += popTitle
	}
	_, _ = t.output.Write([]byte(out)) // as in enter
}

// close leaves the terminal after an orderly end. One that takes nothing is
// abandoned.
func (t *terminal) close(aborted bool) {
	t.leave(aborted)
	if !t.output.Flush(flushTimeout) {
		t.abandon()
	}
	t.cooked()
	t.output.Stop()
	t.input.Release()
	if t.opened != nil {
		_ = t.opened.Close() // it was only read from
	}
}

// flushTimeout is how long the end of the program waits for the terminal.
const flushTimeout = 250 * time.Millisecond

// abandon restores a terminal that is not being read, as far as that can be
// done: what is queued is thrown away to make room for the sequences that
// switch the modes off, so that whoever reads on finds an ordinary screen.
func (t *terminal) abandon() {
	t.output.Interrupt()
	// TCFLSH with TCOFLUSH is tcflush(3); it fails only on what is no terminal.
	_ = unix.IoctlSetInt(int(t.output.Fd()), unix.TCFLSH, unix.TCOFLUSH)
	t.leave(true)
	t.output.Flush(flushTimeout)
	t.cooked()
}
