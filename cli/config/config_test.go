package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"vramscope/guard"
	"vramscope/sampler"
)

// TestDefaultConfigIsTheDefaults: DefaultFile returns a valid file that changes nothing.
func TestDefaultConfigIsTheDefaults(t *testing.T) {
	s := Defaults()
	if err := s.parse("config.toml", []byte(DefaultFile())); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s, Defaults()) {
		t.Errorf("got %+v, want %+v", s, Defaults())
	}
}

func TestInForceReadsBack(t *testing.T) {
	s := Settings{
		Interval: 1500 * time.Millisecond, GPUs: []string{"0", "GPU-8f1c"}, Library: "/opt/\"odd\\\x01path", Theme: "light",
		ASCII: true, ReadOnly: true, Mouse: true, GraphWindow: 90 * time.Minute, GraphStyle: "lines", Sort: "SM%", IdleMinutes: 60, LowMemory: 0,
		Record: true, Share: "group:gpu users", Keep: 90 * time.Minute, MaxSize: 3 << 29, Commands: "full", LeaseReserve: 3 << 28,
		AlertCommand: []string{"/bin/sh", "-c", "a, \"b\" \\ \n", ""},
		Serve:        "[::]:9841", WebConfig: "/etc/web \"1\".yml", ServeOpenly: true, ServeSnapshot: true, ProcessLabels: []string{"user", "hpc_job"}, Processes: 3,
		Guard: guard.Policy{Mode: guard.Off, Every: 500 * time.Millisecond, MaxPerMinute: 60},
	}
	var back Settings
	if err := back.parse("config.toml", []byte(InForce("none", &s))); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, s) {
		t.Errorf("got %+v, want %+v", back, s)
	}
}

// TestInlineTable: a table of the file can also be written in one line.
func TestInlineTable(t *testing.T) {
	s := Defaults()
	if err := s.parse("f", []byte("theme = 'light'\ndaemon = { record = true, share = 'all' }\n")); err != nil || !s.Record || s.Share != "all" {
		t.Errorf("record %v, share %q: %v", s.Record, s.Share, err)
	}
}

func TestDocumentationNamesEveryKey(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "config.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range Options(&Settings{}) {
		if !strings.Contains(string(doc), "`"+o.Key+"`") {
			t.Errorf("docs/config.md does not name %s", o.Key)
		}
	}
}

// FuzzConfig: an accepted file sets possible values, which InForce writes and parse reads back. The
// error for a refused file has a line number and is printable.
func FuzzConfig(f *testing.F) {
	f.Add(DefaultFile())
	for _, content := range []string{
		"gpus = [[1], {a=1}]\n[x]\ny=1", "gpus = [0, '01', \"GPU-\\u001b\"]\ninterval = 1.5\nsort='sm%'", "graph_window = \"auto\"\nlow_memory_percent = 0",
		"interval = \"1e3s\"\n", "interval = 1e300", "\"\\u001b[2J\" = 1", "idle_minutes = 9223372036854775807", "theme = \"\\u202E\"", "theme = \"\\u20E2\"",
		strings.Repeat("[", 300), strings.Repeat("a.", 300) + "a = 1", "gpus = " + strings.Repeat("[", 300), "a = " + strings.Repeat("{a=", 200),
		example, "guard.rule = [{name='x', when={free_below='1%'}, goal={free='2%'}, gpu=3}]", "[[guard.importance]]\nmatch={user='\\u202e'}", "[guard.rule.x]\n[[guard.rule]]",
		"[[guard.rule]]\n[guard.rule.when]\nfor='1s'\n[guard]\nmode='off'", "[[guard.rule.when]]",
		"daemon.record = true\n[recording]\nkeep = \"90m\"\nmax_size = '17MiB'", "[alerts]\nexec = [\"a,b\", '']", "[daemon]\n[gpus]", "\"daemon.record\" = true",
		"[exporter]\naddress=':1'\nprocess_labels=['none']\nprocesses=0", "exporter.process_labels=['job','pid']",
	} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content string) {
		s := Defaults()
		if err := s.parse("f", []byte(content)); err != nil {
			rest, ok := strings.CutPrefix(err.Error(), "f:")
			number, _, _ := strings.Cut(rest, ":")
			line, failed := strconv.Atoi(number)
			if !ok || failed != nil || line < 1 || line > strings.Count(content, "\n")+1 {
				t.Errorf("%q: %v", content, err)
			}
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%q: the message is not printable: %q", content, err)
			}
			return
		}
		if s.Interval < sampler.MinInterval || s.Interval > sampler.MaxInterval || s.GraphWindow < 0 || s.GraphWindow > 24*time.Hour ||
			s.IdleMinutes < 1 || s.IdleMinutes > 24*60 || s.LowMemory < 0 || s.LowMemory > 90 {
			t.Errorf("%q sets %+v", content, s)
		}
		back := Defaults()
		if err := back.parse("f", []byte(InForce("none", &s))); err != nil || !reflect.DeepEqual(back, s) {
			t.Errorf("%q sets %+v, in force %q: %+v, %v", content, s, InForce("none", &s), back, err)
		}
	})
}

func TestLowMemoryFraction(t *testing.T) {
	s := Defaults()
	if got := s.LowMemoryFraction(); got != .1 {
		t.Errorf("by default %v", got)
	}
	s.LowMemory = 0
	if got := s.LowMemoryFraction(); got >= 0 {
		t.Errorf("switched off: %v; only a negative fraction is off, 0 is the default", got)
	}
}

// TestLibraryNeedsASafeFile: nvml_library is code that this program loads, and
// alerts.exec a command that the daemon runs.
func TestLibraryNeedsASafeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	for _, c := range []struct {
		content string
		mode    os.FileMode
		want    string
	}{
		{`nvml_library = "/x.so"`, 0o644, ""},
		{`nvml_library = "/x.so"`, 0o666, "nvml_library: " + path + " is not safe from other users"},
		{`nvml_library = ""`, 0o666, ""},
		{`theme = "mono"`, 0o666, ""},
		{"[alerts]\nexec = ['mail']", 0o644, ""},
		{"[alerts]\nexec = ['mail']", 0o666, "alerts.exec: " + path + " is not safe from other users"},
	} {
		if err := errors.Join(os.WriteFile(path, []byte(c.content), 0o600), os.Chmod(path, c.mode)); err != nil {
			t.Fatal(err)
		}
		s := Defaults()
		if err := s.Load(path); (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s, %v: %v", c.content, c.mode, err)
		}
	}
}

// TestAnotherUsersConfigurationIsNotRead: XDG_CONFIG_HOME can be another user's, as under sudo -E.
func TestAnotherUsersConfigurationIsNotRead(t *testing.T) {
	theirs, own := t.TempDir(), t.TempDir()
	file := filepath.Join(theirs, Name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", theirs)
	t.Setenv("HOME", own)
	if got := Path(); got != file {
		t.Errorf("one's own: %s", got)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can make another user's directory")
	}
	if err := os.Chown(theirs, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if got := Path(); got != filepath.Join(own, ".config", Name) {
		t.Errorf("another user's: %s", got)
	}
}

func TestRefusalsAreShort(t *testing.T) {
	huge := strings.Repeat("x", fileSize-100)
	for _, content := range []string{huge + " = 1", "theme = '" + huge + "'", "[" + huge + "]", "[guard]\n" + huge + " = 1", huge} {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s := Defaults()
		if err := s.Load(path); err == nil || len(err.Error()) > 2*longestMessage || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%.20s: %.100v", content, err)
		}
	}
}
