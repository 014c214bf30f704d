package terminal

import (
	"testing"

	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"
)

// TestModesStayRestored: even if raw is called after the end.
func TestModesStayRestored(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Skipf("no pty to be had: %v", err)
	}
	defer func() { _, _ = master.Close(), slave.Close() }()
	modes := func() term.State {
		t.Helper()
		s, err := term.GetState(slave.Fd())
		if err != nil {
			t.Fatal(err)
		}
		return *s
	}
	before := modes()
	tty, err := open(slave, slave, []string{"TERM=xterm"}, listeners{Ended: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // suspended, and continued
		if err := tty.raw(); err != nil {
			t.Fatal(err)
		}
		if modes() == before {
			t.Error("the terminal is not raw")
		}
		tty.cooked(false)
		if modes() != before {
			t.Error("the modes are not restored")
		}
	}
	tty.Close()
	if err := tty.raw(); err != nil {
		t.Error(err)
	}
	if modes() != before {
		t.Error("the terminal is raw after the end")
	}
}
