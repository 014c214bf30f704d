package text

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// hostile lists names that a process may give itself.
func hostile() []string {
	return []string{
		"\x1b[2J\x1b[1;1Hgone", "\x1b]0;title\a", "\x1b]52;c;cm0gLXJm\x1b\\", "\x9b31mred\x9c", "\u009b2J",
		"a\rb\nc\td\x00e\x7f", "東京の深層学習.py", "👩‍👩‍👧‍👦 family 🇩🇪 👍🏽", "שלום \u202egnp.exe\u202c", "مرحبا بالعالم",
		"e\u0301\u0301\u0301\u0301\u0301 zalgo", "\u200b\u200d\ufeff\u2028\u2029", "ｆｕｌｌｗｉｄｔｈ", "ᄒ\u1161ᆫ", "ﾊﾞ", "\xff\xfe broken \xc3", "क्षत्रिय", "ก็็็็",
		strings.Repeat("字", 1000), strings.Repeat("\x1b[7m", 1000), "",
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"train.py --lr 1e-4":  "train.py --lr 1e-4",
		"a\rb\nc\td\x00e\x7f": "a b c d?e?",
		"\x1b[31mred":         "?[31mred",
		"\u009b2J":            "?2J",
		"\xff broken \xc3":    "? broken ?",
		"left\u202eright\u2066 \u200b\u200d\ufeff": "left?right? ???",
		"soft\u00adhyphen e\u0301 \u2028":          "soft?hyphen e? ?",
		"private \ue000 unassigned \u0378":         "private ? unassigned ?",
		"🇩🇪 👍🏽":                                    "?? 👍?",
		"東京 müller ﾊ":                              "東京 müller ﾊ",
	} {
		if got := Clean(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestStrip(t *testing.T) {
	for in, want := range map[string]string{
		"NVIDIA H100 80GB HBM3":       "NVIDIA H100 80GB HBM3",
		"  NVIDIA\x1b[31m H100\r\n\t": "NVIDIA[31m H100",
		"bad \xff\xfe bytes":          "bad  bytes",
		"left\u202eright\u200b":       "leftright",
		"\x00\x01":                    "",
	} {
		if got := Strip(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range hostile() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for what, cleaned := range map[string]string{"Clean": Clean(s), "Strip": Strip(s)} {
			if !utf8.ValidString(cleaned) {
				t.Errorf("%s(%q) = %q, which is not UTF-8", what, s, cleaned)
			}
			if Clean(cleaned) != cleaned || Strip(cleaned) != strings.TrimSpace(cleaned) {
				t.Errorf("%s(%q) = %q, which is not clean", what, s, cleaned)
			}
			if i := strings.IndexFunc(cleaned, forbidden); i >= 0 {
				t.Errorf("%s(%q) = %q, forbidden at %d", what, s, cleaned, i)
			}
			sum := 0
			for _, r := range cleaned {
				sum += Width(string(r))
			}
			if got := Width(cleaned); got != sum {
				t.Errorf("%s(%q) = %q: %d cells, its runes have %d", what, s, cleaned, got, sum)
			}
		}
	})
}

// forbidden is defined independently of Printable: controls, formats (including direction marks and
// joiners), marks without width, private and unassigned runes, and line and paragraph separators.
func forbidden(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Co, unicode.Cn, unicode.Mn, unicode.Me, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Join_Control, unicode.Variation_Selector) ||
		r == unicode.ReplacementChar
}
