package terminal

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// shown is an emulated terminal with what has been written to it.
type shown struct {
	*vt.Emulator
	written bytes.Buffer
}

func newShown(width, height int) *shown { return &shown{Emulator: vt.NewEmulator(width, height)} }

func (s *shown) Write(p []byte) (int, error) {
	s.written.Write(p)
	return s.Emulator.Write(p)
}

// cells returns all that is on the screen, with its styles.
func (s *shown) cells() string {
	var b strings.Builder
	for y := range s.Height() {
		for x := range s.Width() {
			c := s.CellAt(x, y)
			if c == nil {
				b.WriteString("·")
				continue
			}
			glyph, style := c.Content, c.Style
			if glyph == "" && c.Width == 1 {
				glyph = " "
			}
			if glyph == " " && style.Bg == nil && style.Attrs&uv.AttrReverse == 0 && style.Underline == 0 {
				style = uv.Style{}
			}
			fmt.Fprintf(&b, "%s%v", glyph, style)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

var frameStyles = []string{"", "", "", "\x1b[31m", "\x1b[1m", "\x1b[38;5;7m", "\x1b[38;2;1;4;7m", "\x1b[7m", "\x1b[48;5;20m", "\x1b[1;4;38;5;40m"}

// randomFrame returns a frame of words in random styles, mostly one that differs little from before.
func randomFrame(r *rand.Rand, width, height int, before string) string {
	lines := strings.Split(before, "\n")
	if before == "" || r.IntN(20) == 0 {
		lines = make([]string, height)
	}
	for y := range lines {
		if lines[y] != "" && r.IntN(3) > 0 {
			continue
		}
		var b strings.Builder
		for at := 0; at < width; {
			words := []string{"a", "42", "──", "▄█", "字", "ü", "  ", "        ", "→", "train.py", "ﾊ"}
			word := words[r.IntN(len(words))]
			if at += ansi.StringWidth(word); at > width {
				b.WriteString(strings.Repeat("x", width-at+ansi.StringWidth(word)))
				break
			}
			style := frameStyles[r.IntN(len(frameStyles))]
			b.WriteString(style + word)
			if style != "" && r.IntN(4) > 0 {
				b.WriteString(ansi.ResetStyle)
			}
		}
		b.WriteString(ansi.ResetStyle)
		lines[y] = b.String()
	}
	return strings.Join(lines, "\n")
}

// TestScreenShowsEachFrame: after any frames and sizes the terminal shows the same as after the last frame alone.
func TestScreenShowsEachFrame(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		width, height := 1+r.IntN(60), 1+r.IntN(12)
		terminal := newShown(width, height)
		screen, frame := newScreen(terminal), ""
		for step := range 40 {
			switch r.IntN(12) {
			case 0:
				width, height = 1+r.IntN(60), 1+r.IntN(12)
				terminal.Resize(width, height)
				frame = ""
			case 1:
				_, _ = terminal.Emulator.Write([]byte("\x1b[3;3Hrubbish of somebody else")) // an emulator takes everything
				screen.valid = false
			case 2:
				screen.synchronized = true
			}
			frame = randomFrame(r, width, height, frame)
			screen.Paint(tea.View{}, Frame{strings.Split(frame, "\n"), width, height})
			plain := newShown(width, height)
			for y, line := range strings.Split(frame, "\n") {
				fmt.Fprintf(plain, "\x1b[%d;1H\x1b[m%s", y+1, line)
			}
			if got, want := terminal.cells(), plain.cells(); got != want {
				t.Fatalf("seed %d, step %d, %d×%d: the terminal shows\n%s\nwant\n%s\nframe %q", seed, step, width, height, terminal.Render(), plain.Render(), frame)
			}
		}
	}
}

func TestScreenWritesWhatDiffers(t *testing.T) {
	terminal := newShown(40, 3)
	screen := newScreen(terminal)
	paint := func(lines ...string) string {
		terminal.written.Reset()
		screen.Paint(tea.View{}, Frame{lines, 40, 3})
		return terminal.written.String()
	}
	pad := func(s string) string { return s + strings.Repeat(" ", 40-ansi.StringWidth(s)) }
	paint(pad("12:00:01 GPU"), pad("\x1b[31mtrain.py\x1b[m 17 GiB"), pad("end"))
	for _, c := range []struct {
		what, want string
		lines      []string
	}{
		{"the same frame", "", []string{pad("12:00:01 GPU"), pad("\x1b[31mtrain.py\x1b[m 17 GiB"), pad("end")}},
		{"a digit", "\x1b[1;8H2", []string{pad("12:00:02 GPU"), pad("\x1b[31mtrain.py\x1b[m 17 GiB"), pad("end")}},
		{"a style", "\x1b[2;1H\x1b[1mtrain.py\x1b[m", []string{pad("12:00:02 GPU"), pad("\x1b[1mtrain.py\x1b[m 17 GiB"), pad("end")}},
		{"two figures", "\x1b[1;8H3\x1b[2;11H8", []string{pad("12:00:03 GPU"), pad("\x1b[1mtrain.py\x1b[m 18 GiB"), pad("end")}},
		{"an end", "\x1b[2;1H        \x1b[C  \x1b[C   ", []string{pad("12:00:03 GPU"), pad(""), pad("end")}},
		{"cells near each other", "\x1b[1;2H3\x1b[C1", []string{pad("13:10:03 GPU"), pad(""), pad("end")}},
		{"figures below each other", "\x1b[1;8H4\x1b[2;1H7\x1b[6C5\x1b[3;1H8", []string{pad("13:10:04 GPU"), pad("7      5"), pad("8nd")}},
		{"one part of a style", "\x1b[2;1H\x1b[31;44;1ma\x1b[32mb\x1b[m", []string{pad("13:10:04 GPU"), pad("\x1b[31;44;1ma\x1b[m\x1b[32;44;1mb\x1b[m     5"), pad("8nd")}},
		{"a glyph that terminals may disagree about", "\x1b[3;1H字\x1b[3;3H!", []string{pad("13:10:04 GPU"), pad("\x1b[31;44;1ma\x1b[m\x1b[32;44;1mb\x1b[m     5"), pad("字!")}},
	} {
		if got := paint(c.lines...); got != c.want {
			t.Errorf("%s: %q is written, want %q", c.what, got, c.want)
		}
	}
}

func TestScreenSetsModesOnce(t *testing.T) {
	terminal := newShown(10, 1)
	screen := newScreen(terminal)
	frame := Frame{[]string{strings.Repeat(" ", 10)}, 10, 1}
	view := tea.View{WindowTitle: "box", MouseMode: tea.MouseModeCellMotion}
	screen.Paint(view, frame)
	first := terminal.written.String()
	for _, want := range []string{ansi.SetWindowTitle("box"), ansi.SetModeMouseButtonEvent, ansi.SetModeMouseExtSgr} {
		if !strings.Contains(first, want) {
			t.Errorf("%q lacks %q", first, want)
		}
	}
	terminal.written.Reset()
	screen.Paint(view, frame)
	if terminal.written.Len() > 0 {
		t.Errorf("set again: %q", terminal.written.String())
	}
	screen.synchronized = true
	view.MouseMode = tea.MouseModeNone
	screen.Paint(view, frame)
	if got, want := terminal.written.String(), ansi.SetModeSynchronizedOutput+ansi.ResetModeMouseButtonEvent+ansi.ResetModeMouseExtSgr+ansi.ResetModeSynchronizedOutput; got != want {
		t.Errorf("%q is written, want %q", got, want)
	}
}

// FuzzScreen: no control character in a frame, and no sequence that sets keys, reaches the terminal.
func FuzzScreen(f *testing.F) {
	f.Add("train.py", "\x1b[31mred\x1b[m\x1b]0;owned\a\x1b[2Jgone")
	f.Add("\x1b[", "字\x1b[38;5m\x1b[38;2;1m\xff\x9b31m")
	f.Add("\x1b[3\x1d1mred", "\x1b[>4;2mkeys\x1b[?4m")
	f.Fuzz(func(t *testing.T, one, other string) {
		var out bytes.Buffer
		screen := newScreen(&out)
		for _, content := range []string{one, other, one} {
			screen.Paint(tea.View{}, Frame{strings.Split(content, "\n"), 20, 2})
		}
		if i := bytes.IndexFunc(out.Bytes(), func(r rune) bool { return r < ' ' && r != '\x1b' && r != '\r' && r != '\n' && r != '\b' }); i >= 0 {
			t.Errorf("control character %q is written", out.Bytes()[i])
		}
		if bytes.Contains(out.Bytes(), []byte("\x1b[>")) || bytes.Contains(out.Bytes(), []byte("\x1b[?4m")) {
			t.Errorf("a sequence that sets keys is written: %q", out.Bytes())
		}
	})
}
