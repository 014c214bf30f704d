package ui

import (
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
)

func TestStartNavigateFilterQuit(t *testing.T) {
	t.Parallel()
	m := launch(t, "moving", 80, 24)
	m.untilText("vramscope")
	m.untilText("train.py")
	if strings.Contains(m.text(), "\n>") {
		t.Error("there is a cursor before any movement key")
	}

	m.press("j")
	m.until("the cursor on the first row", func(s string) bool { return strings.Contains(s, "\n>") })
	first := cursorRow(m.text())
	m.press("j")
	m.until("the cursor on another row", func(s string) bool {
		return cursorRow(s) != "" && pidIn(cursorRow(s)) != pidIn(first)
	})

	m.press("f")
	m.untilText("filter")
	m.press("bob")
	m.until("bob's rows alone", func(s string) bool {
		return strings.Contains(s, " bob ") && !strings.Contains(s, " alice    ")
	})
	m.press("\r")
	m.until("the keys line again", func(s string) bool { return strings.Contains(s, "? help") })
	m.press("\x1b")
	m.until("all rows again", func(s string) bool { return strings.Contains(s, " alice    ") })

	m.press("?")
	m.untilText("keys and signs")
	m.press("q") // closes only the help
	m.until("help gone", func(s string) bool { return !strings.Contains(s, "keys and signs") })
	m.press("q")
	m.ends(0, soon)
	m.restored()
}

// cursorRow returns the row of the table that the cursor is on.
func cursorRow(screen string) string {
	for line := range strings.Lines(screen) {
		if strings.HasPrefix(line, ">") {
			return strings.TrimRight(line, "\n")
		}
	}
	return ""
}

// pidIn returns the second word of a row: its pid.
func pidIn(row string) string {
	words := strings.Fields(strings.TrimPrefix(row, ">"))
	if len(words) < 2 {
		return ""
	}
	return words[1]
}

func TestGPULostAndBack(t *testing.T) {
	t.Parallel()
	m := launch(t, "lost", 80, 24)
	m.untilText("lost")
	m.signal(syscall.SIGUSR1)
	m.until("the GPU back", func(s string) bool { return !strings.Contains(s, "lost") && strings.Contains(s, "train.py") })
	m.press("q")
	m.ends(0, soon)
	m.restored()
}

func TestAlarmRingsOnceAndTitles(t *testing.T) {
	t.Parallel()
	m := launch(t, "alarm", 80, 24)
	m.untilText("full in 4m10s")
	if !eventually(func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.title == "vramscope h100-03 ! 1 full 4m"
	}) {
		t.Errorf("the title is %q", m.title)
	}
	time.Sleep(10 * tick) // the alarm stays; the bell must not ring for that
	m.mu.Lock()
	if m.bells != 1 {
		t.Errorf("the bell rang %d times, want once", m.bells)
	}
	m.mu.Unlock()
	m.press("q")
	m.ends(0, soon)
	m.restored()
}

// After two hundred sizes, from far too small to large, the last frame is whole.
func TestResizeStorm(t *testing.T) {
	t.Parallel()
	m := launch(t, "moving", 80, 24)
	m.untilText("train.py")
	m.press("j?")
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		m.resize(20+random.IntN(281), 2+random.IntN(79))
		time.Sleep(time.Duration(random.IntN(10)) * time.Millisecond)
	}
	m.resize(100, 30)
	m.press("\x1b")
	m.until("a whole frame of 100×30", func(s string) bool {
		lines := strings.Split(s, "\n")
		return len(lines) == 30 && strings.HasPrefix(lines[0], " vramscope") && strings.HasPrefix(lines[29], " ? help") &&
			strings.Count(s, " vramscope  ") == 1 && strings.Contains(s, "\n>")
	})
	m.press("q")
	m.ends(0, soon)
	m.restored()
}

func TestSuspendAndContinue(t *testing.T) {
	t.Parallel()
	m := launchFromShell(t, "moving", 80, 24)
	m.untilText("train.py")
	for range 2 {
		pid := m.foreground()
		m.press("\x1a")
		m.untilStopped(pid)
		m.restored()
		m.press("\n") // the shell reads a line and continues the program
		m.untilText("train.py")
		m.press("j")
		m.until("a cursor", func(s string) bool { return cursorRow(s) != "" })
	}
	m.press("q")
	m.ends(0, soon)
	m.restored()
	if !strings.Contains(m.errors(), "suspended 2, resumed 2, aligned 3") {
		t.Errorf("the driver was not let go: %s", m.errors())
	}
}

// A stop from outside (kill -TSTP) leaves the terminal in order, too.
func TestStopFromOutside(t *testing.T) {
	t.Parallel()
	m := launchFromShell(t, "moving", 80, 24)
	m.untilText("train.py")
	pid := m.foreground()
	if err := syscall.Kill(pid, syscall.SIGTSTP); err != nil {
		t.Fatal(err)
	}
	m.untilStopped(pid)
	m.restored()
	m.press("\n")
	m.press("?")
	m.untilText("keys and signs")
	m.press("\x03")
	m.ends(0, soon)
	m.restored()
}

// If no shell could continue the program, Ctrl+Z must not hang it.
func TestSuspendWithoutAShell(t *testing.T) {
	t.Parallel()
	m := launch(t, "moving", 80, 24) // it leads its session
	m.untilText("train.py")
	m.press("\x1a")
	m.untilText("cannot suspend")
	m.press("q")
	m.ends(0, soon)
	m.restored()
}

// TestRandomKeys: after random keys the screen is whole, and the program ends when asked to.
func TestRandomKeys(t *testing.T) {
	keys := []string{
		"j", "k", "\x1b[A", "\x1b[B", "\x1b[5~", "\x1b[6~", "\x1b[H", "\x1b[F", "g", "G", "\x1b[C", "\x1b[D", "\t",
		"0", "1", "2", "3", "9", "!", "\x1b", "\r", "/", "n", "N", "\\", "f", "u", "s", "r", "t", "P", "z", "e", "E",
		"y", "w", "F", "a", "x", " ", "U", "p", ",", ".", "<", ">", "L", "+", "-", "T", "m", "\x0c", "?", "\x1bOP",
		"\x1b[200~pasted\x1b[201~", "\x1b[<64;10;12M", "\x1b[<65;10;12M", "\x1b[<0;10;14M", "\x1b[<0;30;10M", "é", "名",
		"\x7f", "\x15", "v", "d", "n", "t", "i", "\x1b[13~", "\x1b[14~", "\x1b[15~", "\x1b[17~", "\x1b[20~",
	}
	for _, play := range []string{"moving", "lost", "sixteen", "hostile", "ends", "probed"} {
		t.Run(play, func(t *testing.T) {
			t.Parallel()
			m := launch(t, play, 80, 24)
			m.untilText("vramscope")
			random := rand.New(rand.NewPCG(7, uint64(len(play))))
			var pressed []string
			for i := range 400 {
				key := keys[random.IntN(len(keys))]
				pressed = append(pressed, key)
				m.press(key)
				if i%20 == 19 {
					m.resize(30+random.IntN(200), 5+random.IntN(60))
				}
				time.Sleep(2 * time.Millisecond)
				if !running(m.cmd.Process.Pid) {
					<-m.done
					t.Fatalf("it ended after %q: %s", pressed, m.errors())
				}
			}
			// The screen is complete: no name of a process has moved the cursor or set the title.
			m.resize(100, 30)
			// Escape and a key that are read together are Alt and that key, so the keys come one by one.
			m.until("a whole frame", func(string) bool {
				m.press("\x1b")
				time.Sleep(60 * time.Millisecond)
				m.press("L\x0c")
				time.Sleep(60 * time.Millisecond)
				s := m.text()
				lines := strings.Split(s, "\n")
				return strings.HasPrefix(lines[0], " vramscope") && strings.HasPrefix(lines[29], " ? help") &&
					strings.HasSuffix(lines[29], "LIVE ") && strings.Count(s, "COMMAND") == 1
			})
			m.mu.Lock()
			if !strings.HasPrefix(m.title, "vramscope h100-03") {
				t.Errorf("the title is %q", m.title)
			}
			m.mu.Unlock()
			m.press("\x03")
			m.ends(0, soon)
			m.restored()
		})
	}
}

func TestCopyReachesTheClipboard(t *testing.T) {
	t.Parallel()
	m := launch(t, "quiet", 80, 24)
	m.untilText("train.py")
	m.press("jy")
	m.untilText("copied 1")
	pid := pidIn(cursorRow(m.text()))
	if !eventually(func() bool { return m.rawContains(ansi.SetSystemClipboard(pid)) }) {
		t.Errorf("no OSC 52 with %s", pid)
	}
}

func TestSignalIsConfirmedByYAlone(t *testing.T) {
	t.Parallel()
	m := launch(t, "quiet", 80, 24)
	m.untilText("train.py")
	m.press("jx")
	m.untilText("Send a signal")
	m.press("\r\r")
	m.press("j") // selects the next choice: the keys go to the dialog, not to the table
	m.untilText("send INT")
	time.Sleep(askingTime) // an earlier y is ignored
	m.press("y")
	m.untilText("is another process now")
	m.press("q")
	m.ends(0, soon)
}

func TestPastIsMarkedAndCanBeLeft(t *testing.T) {
	t.Parallel()
	m := launch(t, "moving", 80, 24)
	m.untilText("LIVE")
	m.press("<")
	m.untilText("L live")
	m.press("jx")
	m.untilText("not in the past")
	m.press("L")
	m.untilText("LIVE")
	m.press("q")
	m.ends(0, soon)
}

// Bubble Tea does not ask for synchronized output over SSH; the program does.
func TestSynchronizedOutputOverSSH(t *testing.T) {
	t.Parallel()
	m := launch(t, "moving", 80, 24, "SSH_TTY=/dev/pts/9")
	m.untilText("train.py")
	if !eventually(func() bool { return m.rawContains(ansi.SetModeSynchronizedOutput) }) {
		t.Error("frames are not synchronized")
	}
	m.press("q")
	m.ends(0, soon)
	m.restored()
}

// A terminal that draws █ two cells wide gets the ASCII glyphs.
func TestWideTerminalGetsASCII(t *testing.T) {
	t.Parallel()
	m := launch(t, "quiet", 80, 24, "TERM=xterm-wide")
	m.until("ASCII bars", func(s string) bool { return strings.Contains(s, "br....") && !strings.Contains(s, "▇") })
	m.press("q")
	m.ends(0, soon)
	m.restored()
}

func TestEnvironmentChoosesTheGlyphs(t *testing.T) {
	for _, env := range []string{"TERM=linux", "LC_ALL=de_DE.ISO-8859-1", "LANG=C"} {
		t.Run(env, func(t *testing.T) {
			t.Parallel()
			m := launch(t, "quiet", 80, 24, env)
			m.untilText("train.py")
			if s := m.text(); strings.Contains(s, "─") || strings.Contains(s, "▇") || !strings.Contains(s, "br....") {
				t.Errorf("not ASCII:\n%s", s)
			}
			m.press("q")
			m.ends(0, soon)
			m.restored()
		})
	}
}

func TestNoColorKeepsTextures(t *testing.T) {
	for _, env := range []string{"NO_COLOR=yes", "CLICOLOR=0"} {
		m := launch(t, "quiet", 80, 24, env)
		m.untilText("train.py")
		m.press("j?")
		m.untilText("keys and signs")
		m.press("qq")
		m.ends(0, soon)
		m.mu.Lock()
		for _, color := range []string{"\x1b[3", "\x1b[4", "\x1b[9", "38;", "48;"} {
			if i := strings.Index(m.raw.String(), color); i >= 0 && strings.HasSuffix(strings.SplitN(m.raw.String()[i:], "m", 2)[0], "m") {
				t.Errorf("%s: a colour was written: %q", env, m.raw.String()[i:i+20])
			}
		}
		m.mu.Unlock()
	}
}

// The budget of an idle screen is 4 kB a second. A screen on which only the clock changes needs a twentieth of that.
func TestIdleScreenWritesTheClockOnly(t *testing.T) {
	t.Parallel()
	m := launch(t, "quiet", 200, 50)
	m.untilText("train.py")
	// The renderer may still be drawing the whole screen.
	if rate := 0; !eventually(func() bool {
		before := m.written()
		time.Sleep(3 * time.Second)
		rate = (m.written() - before) / 3
		return rate <= 200
	}) {
		t.Errorf("%d bytes a second", rate)
	}
	m.press("q")
	m.ends(0, soon)
}
