package text

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// invisible holds characters that have no width or change the direction of a line, and other
// characters that are not Printable.
const invisible = "\u202e\u2066\u200b\u200d\u2028\u2029\ufeff\u00ad\u034f\u061c\u2060\ufe0f\u115f\u3164\ue000\U000e0041\U000e0100\u0085\u009b\x7f"

func TestEscapeJSON(t *testing.T) {
	for in, want := range map[string]string{
		"{\n  \"a\": \"x\"\n}\n":       "{\n  \"a\": \"x\"\n}\n",
		"\"a\u202eb\u200b\U000e0041\"": `"a\u202eb\u200b\udb40\udc41"`,
		"\"東京 müller 👍 –…\"":           "\"東京 müller 👍 –…\"",
		"\"\u009b2J\x7f\"":             `"\u009b2J\u007f"`,
	} {
		if got := string(EscapeJSON([]byte(in))); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// FuzzEscapeJSON: nothing that Clean replaces is written unescaped, and a reader gets the original text.
func FuzzEscapeJSON(f *testing.F) {
	for _, s := range append(hostile(), invisible) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		plain, err := json.MarshalIndent(map[string]string{"text": s}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		escaped := EscapeJSON(plain)
		if raw := strings.ReplaceAll(string(escaped), "\n", ""); Clean(raw) != raw || !utf8.Valid(escaped) {
			t.Errorf("%q becomes %q", s, escaped)
		}
		var back struct{ Text string }
		if err := json.Unmarshal(escaped, &back); err != nil || back.Text != strings.ToValidUTF8(s, "\ufffd") && utf8.ValidString(s) {
			t.Errorf("%q comes back as %q, %v", s, back.Text, err)
		}
	})
}
