package ui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"

	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/cell"
)

// hostileTexts returns hostile names of processes.
func hostileTexts() []string {
	return []string{
		"\x1b[2J\x1b[1;1Hgone", "\x1b]0;title\a", "\x1b]52;c;cm0gLXJm\x1b\\", "\x9b31mred\x9c", "\u009b2J",
		"a\rb\nc\td\x00e\x7f", "東京の深層学習.py", "👩‍👩‍👧‍👦 family 🇩🇪 👍🏽", "שלום \u202egnp.exe\u202c", "مرحبا بالعالم",
		"e\u0301\u0301\u0301\u0301\u0301 zalgo", "\u200b\u200d\ufeff\u2028\u2029", "ｆｕｌｌｗｉｄｔｈ", "ᄒ\u1161ᆫ", "ﾊﾞ", "\xff\xfe broken \xc3", "क्षत्रिय", "ก็็็็",
		strings.Repeat("x", 64<<10), strings.Repeat("字", 20<<10), strings.Repeat("\x1b[7m", 10<<10), "",
	}
}

// TestHostileNames: no name of a process breaks the layout or reaches the terminal as an escape sequence.
func TestHostileNames(t *testing.T) {
	if testing.Short() {
		t.Skip("long, on one goroutine")
	}
	t.Parallel()
	for i, text := range hostileTexts() {
		for _, size := range [][2]int{{30, 3}, {40, 8}, {80, 24}, {200, 50}} {
			hostileScreen(t, fmt.Sprintf("text %d", i), text, size[0], size[1])
		}
	}
}

func hostileScreen(t *testing.T, what, text string, width, height int) {
	t.Helper()
	lk := lookOf(t, "dark", true, colorprofile.TrueColor, cell.UnicodeGlyphs())
	for _, change := range []func(st *state){
		func(*state) {},
		func(st *state) { st.at(snapshottest.Probeme, 3); st.ScrollX = 3; st.Tree = true },
		func(st *state) { st.Filter = text; st.message, st.messageUntil = text, st.now.AddDate(0, 0, 1) },
		func(st *state) { st.detail = true },
	} {
		st := screenOf(snapshottest.Hostile(snapshottest.DrawnBox(), text), width, height)
		change(st)
		checkFrame(t, what, frame(st, lk), width, height)
	}
	st := screenOf(snapshottest.Hostile(snapshottest.NoDriver(), text), width, height)
	checkFrame(t, what+", no driver", frame(st, lk), width, height)
}

func FuzzNames(f *testing.F) {
	for _, text := range hostileTexts() {
		if len(text) < 1000 {
			f.Add(text, uint8(80), uint8(24))
		}
	}
	f.Fuzz(func(t *testing.T, text string, width, height uint8) {
		hostileScreen(t, "fuzz", text, max(int(width), minWidth), max(int(height), minHeight))
	})
}

// messageOf returns what Bubble Tea makes of an event of the terminal.
func messageOf(event uv.Event) tea.Msg {
	switch e := event.(type) {
	case uv.KeyPressEvent:
		return tea.KeyPressMsg(e)
	case uv.KeyReleaseEvent:
		return tea.KeyReleaseMsg(e)
	case uv.MouseClickEvent:
		return tea.MouseClickMsg(e)
	case uv.MouseMotionEvent:
		return tea.MouseMotionMsg(e)
	case uv.MouseReleaseEvent:
		return tea.MouseReleaseMsg(e)
	case uv.MouseWheelEvent:
		return tea.MouseWheelMsg(e)
	case uv.PasteEvent:
		return tea.PasteMsg(e)
	case uv.WindowSizeEvent: // terminal.Program asks the kernel for the size
		return tea.WindowSizeMsg{Width: min(e.Width, 200), Height: min(e.Height, 60)}
	case uv.BackgroundColorEvent:
		return tea.BackgroundColorMsg(e)
	case uv.CursorPositionEvent:
		return tea.CursorPositionMsg(e)
	case uv.FocusEvent:
		return tea.FocusMsg(e)
	case uv.BlurEvent:
		return tea.BlurMsg(e)
	case uv.ModeReportEvent:
		return tea.ModeReportMsg(e)
	case uv.CapabilityEvent:
		return tea.CapabilityMsg(e)
	case uv.TerminalVersionEvent:
		return tea.TerminalVersionMsg(e)
	case uv.KeyboardEnhancementsEvent:
		return tea.KeyboardEnhancementsMsg(e)
	}
	return event
}

// FuzzKeyboard: whatever a terminal sends, keys, a mouse, a paste or answers, each frame fills the screen.
func FuzzKeyboard(f *testing.F) {
	for _, input := range []string{
		"jjjksrGgHlL/rank\r?\x1b \x1b[A\x1b[B\x1b[5~\x1b[6~", "fpython\x7f\x17\x15\x1b", "vF\x1bax\x1bTtTiziz+-+-", "\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[2;3R\x1b[?62;c\x1b[?2026;2$y",
		"\x1b[<0;10;5M\x1b[<0;10;5m\x1b[<64;1;1M\x1b[<35;9999;9999M", "\x1b[48;24;80;480;640t\x1b[48;3;30;1;1t\x1b[48;2147483647;2147483647;1;1t", "/" + strings.Repeat("字\u202e", 45),
		"\x1b[200~a\nb\x1b[201~", "\x1b[99;5u\x1b[1;2P\x1bOP\x1b]11;rgb:z/\x1b\\\x1bP>|x\x1b\\", "1234567890eEwW[]{}<>", "\x1b[I\x1b[O\xff\xc3(",
	} {
		f.Add([]byte(input))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		m := newTestModel(t, snapshottest.DrawnBox(), nil)
		var decoder uv.EventDecoder
		for len(input) > 0 {
			n, event := decoder.Decode(input)
			if n <= 0 || n > len(input) {
				break // half a sequence: Bubble Tea waits for the rest
			}
			input = input[n:]
			events, many := event.(uv.MultiEvent)
			if !many {
				events = uv.MultiEvent{event}
			}
			for _, e := range events {
				m.Update(messageOf(e)) // commands are left out: they are the program's own
				m.check()
			}
		}
	})
}
