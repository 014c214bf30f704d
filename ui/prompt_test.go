package ui

import (
	"strings"
	"testing"

	"vramscope/ui/dialog"
	"vramscope/ui/uitest"
)

func TestPromptEdits(t *testing.T) {
	p := newPrompt(uitest.Appearance(t, "", false), "find", "")
	for _, step := range []struct{ name, text, want string }{
		{"t", "t", "t"}, {"r", "r", "tr"}, {"space", " ", "tr "}, {"日", "日", "tr 日"}, {"left", "", "tr 日"},
		{"x", "x", "tr x日"}, {"backspace", "", "tr 日"}, {"ctrl+w", "", "日"}, {"end", "", "日"}, {"ctrl+u", "", ""},
		{"q", "q", "q"}, {"home", "", "q"}, {"delete", "", ""},
	} {
		var out dialog.Outcome
		p, out = p.press(step.name, step.text)
		if p.value() != step.want || out != dialog.Handled {
			t.Fatalf("after %q: %q, outcome %d; want %q", step.name, p.value(), out, step.want)
		}
	}
	if _, out := p.press("backspace", ""); out != dialog.Closed {
		t.Error("Backspace in an empty prompt does not close it")
	}
	if got := p.insert("a\x1b[31mb\x00c\nsecond line").value(); got != "a[31mbc" {
		t.Errorf("pasted control characters stay: %q", got)
	}
	if got := p.insert(strings.Repeat("x", 1<<20)).value(); len(got) != maxPrompt {
		t.Errorf("a pasted file makes a prompt of %d", len(got))
	}
	for name, want := range map[string]dialog.Outcome{"enter": dialog.Confirmed, "esc": dialog.Closed, "f5": dialog.Ignored} {
		if _, out := p.press(name, ""); out != want {
			t.Errorf("%q: outcome %d, want %d", name, out, want)
		}
	}
}
