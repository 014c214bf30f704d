package dialog

import (
	"strings"
	"testing"

	"vramscope/ui/uitest"
)

func TestPromptEdits(t *testing.T) {
	p := NewPrompt(uitest.Appearance(t, "", false), "find", "")
	for _, step := range []struct{ name, text, want string }{
		{"t", "t", "t"}, {"r", "r", "tr"}, {"space", " ", "tr "}, {"日", "日", "tr 日"}, {"left", "", "tr 日"},
		{"x", "x", "tr x日"}, {"backspace", "", "tr 日"}, {"ctrl+w", "", "日"}, {"end", "", "日"}, {"ctrl+u", "", ""},
		{"q", "q", "q"}, {"home", "", "q"}, {"delete", "", ""},
	} {
		var out Outcome
		p, out = p.Press(step.name, step.text)
		if p.Value() != step.want || out != Handled {
			t.Fatalf("after %q: %q, outcome %d; want %q", step.name, p.Value(), out, step.want)
		}
	}
	if _, out := p.Press("backspace", ""); out != Closed {
		t.Error("Backspace in an empty prompt does not close it")
	}
	if got := p.Insert("a\x1b[31mb\x00c\nsecond line").Value(); got != "a[31mbc" {
		t.Errorf("pasted control characters stay: %q", got)
	}
	if got := p.Insert(strings.Repeat("x", 1<<20)).Value(); len(got) != maxPrompt {
		t.Errorf("a pasted file makes a prompt of %d", len(got))
	}
	for name, want := range map[string]Outcome{"enter": Confirmed, "esc": Closed, "f5": Ignored} {
		if _, out := p.Press(name, ""); out != want {
			t.Errorf("%q: outcome %d, want %d", name, out, want)
		}
	}
}
