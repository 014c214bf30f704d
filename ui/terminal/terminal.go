package terminal

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

// errNoTerminal is wrapped by open for a file that is no terminal, and for a terminal that cannot be drawn on.
var errNoTerminal = errors.New("not a terminal")

// errHungUp says that the window of the terminal was closed, or its line dropped.
var errHungUp = errors.New("the terminal was closed")

type terminal struct {
	Input  *input
	Output *output
	Traits Traits

	screen  *screen
	entered atomic.Bool // the program may draw on the terminal

	modes  sync.Mutex
	before *term.State // the modes as they were found
	ended  bool        // the modes stay as they were found

	opened *os.File    // /dev/tty where the standard input is something else
	saved  atomic.Bool // the title is on the terminal's stack
}

// listeners are called on any goroutine and must not block.
type listeners struct {
	Drained     func(lost bool) // the terminal takes output again
	Ended       func(error)     // the terminal was closed
	Interrupted func()          // Ctrl-C was typed
}

// open looks at the terminal without changing it.
func open(input, output *os.File, environ []string, listeners listeners) (*terminal, error) {
	t := &terminal{Traits: TraitsOf(environ)}
	if !term.IsTerminal(output.Fd()) {
		return nil, fmt.Errorf("standard output is %w", errNoTerminal)
	}
	if t.Traits.Dumb {
		return nil, fmt.Errorf("TERM=%s is %w that can be drawn on", uv.Environ(environ).Getenv("TERM"), errNoTerminal)
	}
	if !term.IsTerminal(input.Fd()) {
		tty, err := os.OpenFile("/dev/tty", os.O_RDONLY, 0)
		if err != nil {
			return nil, fmt.Errorf("standard input is %w, and there is no other keyboard: %w", errNoTerminal, err)
		}
		input, t.opened = tty, tty
	}
	before, err := term.GetState(input.Fd())
	if err != nil {
		return nil, fmt.Errorf("reading the modes of the terminal: %w", err)
	}
	t.before = before
	t.Input = newInput(input, listeners.Ended, listeners.Interrupted)
	t.Output = newOutput(output, listeners.Drained, listeners.Ended)
	t.screen = newScreen(t.Output)
	return t, nil
}

// raw makes the terminal deliver keys one by one, without echo. After the end it does nothing.
func (t *terminal) raw() error {
	t.modes.Lock()
	defer t.modes.Unlock()
	if t.ended {
		return nil
	}
	if _, err := term.MakeRaw(t.Input.Fd()); err != nil {
		return fmt.Errorf("setting the terminal to raw mode: %w", err)
	}
	return nil
}

// cooked restores the terminal's modes. After atEnd, raw does nothing: SIGCONT may have started a command that calls it.
func (t *terminal) cooked(atEnd bool) {
	t.modes.Lock()
	defer t.modes.Unlock()
	t.ended = t.ended || atEnd
	_ = term.Restore(t.Input.Fd(), t.before) // a closed terminal has no modes to restore
}

// Size returns the size in cells, 80×24 where the kernel does not know it.
func (t *terminal) Size() (width, height int) {
	if width, height, ok := t.KernelSize(); ok {
		return width, height
	}
	return 80, 24
}

// KernelSize returns the size that the kernel knows, within Limit; false if the kernel knows none.
func (t *terminal) KernelSize() (width, height int, ok bool) {
	width, height, err := term.GetSize(t.Output.Fd())
	ok = err == nil && width > 0 && height > 0
	width, height = Limit(width, height)
	return width, height, ok
}

// Limit limits the size that is drawn: the terminal's owner can set any size, and each cell takes memory.
func Limit(width, height int) (columns, rows int) { return min(width, 2000), min(height, 1000) }

// Enter saves the title, switches to the alternate screen, asks the questions and draws the first frame, in one write.
func (t *terminal) Enter(view tea.View, first []string) {
	width, height := t.Size()
	out := append([]byte(t.modesOn()+t.Traits.questions()), t.screen.differences(view, Frame{first, width, height})...)
	t.entered.Store(true)
	_, _ = t.Output.Write(out) // a closed terminal is noticed by the output itself
}

// Paint draws what differs from the last frame, while the program may draw on the terminal.
func (t *terminal) Paint(view tea.View, frame Frame) {
	if t.entered.Load() {
		t.screen.Paint(view, frame)
	}
}

// Send writes a sequence that draws nothing: a bell, a text for the clipboard.
func (t *terminal) Send(sequence string) {
	_, _ = t.Output.Write([]byte(sequence)) // as in Enter
}

// modesOn returns the sequences that save the title, switch to the alternate screen, and ask for reports of keys and
// pastes. The keyboard protocols belong to a screen, so they follow the switch.
func (t *terminal) modesOn() string {
	const disambiguate = ansi.KittyDisambiguateEscapeCodes
	title := ""
	if !t.Traits.Console {
		title = pushTitle
		t.saved.Store(true)
	}
	return title + ansi.SetModeAltScreenSaveCursor + ansi.ResetModeTextCursorEnable + ansi.SetModeBracketedPaste +
		ansi.SetModifyOtherKeys2 + ansi.PushKittyKeyboard(disambiguate)
}

// The title is kept on the terminal's own stack: XTWINOPS 22 and 23, see
// https://invisible-island.net/xterm/ctlseqs/ctlseqs.html.
const (
	pushTitle = "\x1b[22;2t"
	popTitle  = "\x1b[23;2t"
)

// leave switches all modes off and goes back to the main screen and its title. The keyboard protocol ends before the
// switch, because that of the main screen belongs to the shell. If the terminal is not entered, leave does nothing unless
// sure is set. Then it repeats a leave whose output may have been dropped.
func (t *terminal) leave(sure bool) {
	if !t.entered.Swap(false) && !sure {
		return
	}
	out := ansi.ResetModeSynchronizedOutput + ansi.ResetStyle +
		ansi.ResetModifyOtherKeys + ansi.PopKittyKeyboard(1) +
		ansi.ResetModeMouseNormal + ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseAnyEvent + ansi.ResetModeMouseExtSgr +
		ansi.ResetModeBracketedPaste
	if !t.Traits.Console {
		out += ansi.SetWindowTitle("")
	}
	out += ansi.ResetModeAltScreenSaveCursor + ansi.SetModeTextCursorEnable
	if t.saved.Load() {
		out += popTitle
	}
	_, _ = t.Output.Write([]byte(out)) // as in Enter
}

// enterAgain takes the screen back after a leave. The next frame is drawn completely.
func (t *terminal) enterAgain() {
	t.screen.valid, t.screen.view = false, tea.View{} // a view whose modes are all off
	t.entered.Store(true)
	t.Send(t.modesOn())
}

// flushTimeout is how long Close, Abandon and a suspension wait for the terminal to take output.
const flushTimeout = 250 * time.Millisecond

// Close leaves the terminal after an orderly end.
func (t *terminal) Close() {
	t.leave(false)
	if !t.Output.Flush(flushTimeout) {
		t.Abandon()
	}
	t.cooked(true)
	t.Output.Stop()
	t.Input.release()
	if t.opened != nil {
		_ = t.opened.Close() // it was only read from
	}
}

// Abandon restores a terminal that takes no output, as far as possible: it drops queued output to make room for the
// sequences that switch the modes off. It may be called while Close is running.
func (t *terminal) Abandon() {
	t.Output.Interrupt()
	// TCFLSH with TCOFLUSH is tcflush(3): it drops what the kernel has queued.
	_ = unix.IoctlSetInt(int(t.Output.Fd()), unix.TCFLSH, unix.TCOFLUSH)
	t.leave(true)
	t.Output.Flush(flushTimeout)
	t.cooked(true)
}
