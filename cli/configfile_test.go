package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestDefaultConfigIsTheDefaults: the documentation is a valid file that
// changes nothing, and every key in it works.
func TestDefaultConfigIsTheDefaults(t *testing.T) {
	s := defaults()
	if err := s.parseConfig("config.toml", []byte(defaultConfig())); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s, defaults()) {
		t.Errorf("got %+v, want %+v", s, defaults())
	}
	golden(t, "config.toml", []byte(defaultConfig()))
}

// TestInForceReadsBack: what config prints as in force sets just that.
func TestInForceReadsBack(t *testing.T) {
	s := settings{
		interval: 1500 * time.Millisecond, gpus: []string{"0", "GPU-8f1c"}, library: "/opt/\"odd\\\x01path", theme: "light",
		ascii: true, readOnly: true, mouse: true, graphWindow: 90 * time.Minute, sort: "SM%", idleAfter: time.Hour, lowMemory: 0,
	}
	var back settings
	p := &program{}
	p.flags.config = "none"
	if err := back.parseConfig("config.toml", []byte(p.inForce(&s))); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, s) {
		t.Errorf("got %+v, want %+v", back, s)
	}
}

// TestDocumentationNamesEveryKey: docs/config.md cannot forget one.
func TestDocumentationNamesEveryKey(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "docs", "config.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range options() {
		if !strings.Contains(string(doc), "`"+o.key+"`") {
			t.Errorf("docs/config.md does not name %s", o.key)
		}
	}
}

func TestConfigMistakes(t *testing.T) {
	for _, tc := range []struct{ content, want string }{
		{"intervl = 1", `f:1: there is no key "intervl"; did you mean "interval"?`},
		{"\n\n[gpus]\nx = 1", "f:3: gpus: want a list, like [0, 2]"},
		{"theme = 'x'\nzzz = 1", `f:1: theme: there is no theme "x"`},
		{"zzz = 1\ntheme = 'x'", `f:1: there is no key "zzz"`},
		{"a.b = 1", `f:1: there is no key "a"`},
		{"gpus = [1.5]", "f:1: gpus: want a list of numbers and texts"},
		{"gpus = ['x']", `f:1: gpus: "x" is neither`},
		{"interval = true", "f:1: interval: want a duration"},
		{"interval = nan", "f:1: interval:"},
		{"interval = inf", "f:1: interval:"},
		{"interval = '5h'", "f:1: interval: 5h is out of range: 100ms to 1m"},
		{"low_memory_percent = 5.5", "f:1: low_memory_percent: want a whole number"},
		{"sort = 'WEIGHT'", `f:1: sort: there is no column "WEIGHT"`},
		{"mouse = true\nmouse = true", "f:2:"},
		{"x = \"\x00\"", "f:1:"},
		{"\"theme\x1b[2J\" = 1", "f:1:"},
		{"'bad\\u001b' = 1", `f:1: there is no key`},
	} {
		s := defaults()
		err := s.parseConfig("f", []byte(tc.content))
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) || exitCode(err) != exitUsage {
			t.Errorf("%q: got %v, want %q", tc.content, err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q: the message carries an escape: %q", tc.content, err)
		}
	}
}

func FuzzConfigNeverPanics(f *testing.F) {
	f.Add(defaultConfig())
	f.Add("gpus = [[1], {a=1}]\n[x]\ny=1")
	f.Fuzz(func(_ *testing.T, content string) {
		s := defaults()
		_ = s.parseConfig("f", []byte(content)) // an error or not: no panic
	})
}

func TestThresholds(t *testing.T) {
	s := defaults()
	if s.thresholds().LowMemoryFraction != .1 {
		t.Errorf("by default %+v", s.thresholds())
	}
	s.lowMemory = 0
	if got := s.thresholds(); got.LowMemoryFraction >= 0 {
		t.Errorf("switched off: %+v; only a negative fraction is off, 0 is the default", got)
	}
}

func TestNearest(t *testing.T) {
	words := []string{"interval", "theme", "read_only", "once", "doctor"}
	for word, want := range map[string]string{
		"intervall": "interval", "Theme": "theme", "readonly": "read_only", "onec": "once", "docter": "doctor",
		"doc": "doctor", "launch": "", "": "", "x": "", strings.Repeat("a", 1000): "",
	} {
		if got := nearest(word, words); got != want {
			t.Errorf("%.20q: got %q, want %q", word, got, want)
		}
	}
}
