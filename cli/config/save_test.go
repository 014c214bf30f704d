package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// set is a change of some settings.
func set(s *Settings) {
	s.Theme, s.Interval, s.Columns, s.Mouse = "light", 2*time.Second, []string{"PID", "USED"}, true
}

var setKeys = []string{"theme", "interval", "columns", "mouse", "bell"}

// TestSaveKeepsTheRestOfTheFile: only the values of changed keys differ.
func TestSaveKeepsTheRestOfTheFile(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"values with comments": {
			"# mine\ntheme = 'dark' # at night\n\n  interval=1 # one second\n'mouse' = false\ncolumns = [ # all\n  \"GPU\",\n]\n\n# who\n[daemon]\nrecord = true\n",
			"# mine\ntheme = \"light\" # at night\n\n  interval=\"2s\" # one second\n'mouse' = true\ncolumns = [\"PID\", \"USED\"]\n\n# who\n[daemon]\nrecord = true\n",
		},
		"keys before the first table": {
			"sort = \"PID\" # by pid\n\n# who\n[daemon]\nrecord = true",
			"sort = \"PID\" # by pid\ninterval = \"2s\"\ntheme = \"light\"\nmouse = true\ncolumns = [\"PID\", \"USED\"]\n\n# who\n[daemon]\nrecord = true",
		},
		"a table alone": {
			"# head\n\n# who\n[daemon]\nrecord = true\n",
			"# head\ninterval = \"2s\"\ntheme = \"light\"\nmouse = true\ncolumns = [\"PID\", \"USED\"]\n\n# who\n[daemon]\nrecord = true\n",
		},
		"no newline at the end": {"theme = \"dark\"", "theme = \"light\"\ninterval = \"2s\"\nmouse = true\ncolumns = [\"PID\", \"USED\"]\n"},
		"carriage returns":      {"theme = \"dark\"\r\n[guard]\r\n", "theme = \"light\"\r\ninterval = \"2s\"\r\nmouse = true\r\ncolumns = [\"PID\", \"USED\"]\r\n[guard]\r\n"},
		"an empty file":         {"", "interval = \"2s\"\ntheme = \"light\"\nmouse = true\ncolumns = [\"PID\", \"USED\"]\n"},
	} {
		got, err := edit("config.toml", []byte(c.before), set, setKeys)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		after, afterwards := strings.Split(c.after, "\n"), strings.Split(string(got), "\n")
		if !sameLines(after, afterwards) {
			t.Errorf("%s: got\n%q\nwant\n%q", name, got, c.after)
		}
		again, err := edit("config.toml", got, set, setKeys)
		if err != nil || string(again) != string(got) {
			t.Errorf("%s: a second time it becomes\n%q, %v", name, again, err)
		}
	}
}

// sameLines compares lines in any order, because added keys are in the order of the options.
func sameLines(a, b []string) bool {
	count := func(lines []string) map[string]int {
		n := make(map[string]int)
		for _, l := range lines {
			n[strings.TrimRight(l, "\r")]++
		}
		return n
	}
	return reflect.DeepEqual(count(a), count(b))
}

func TestSaveReplacesTheFileBehindALink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "dotfiles.toml"), filepath.Join(dir, "config.toml")
	if err := errors.Join(os.WriteFile(file, []byte("theme = \"dark\" # mine\n"), 0o600), os.Chmod(file, 0o640), os.Symlink("dotfiles.toml", link)); err != nil {
		t.Fatal(err)
	}
	if err := Save(link, set, setKeys); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link has become %v, %v", info.Mode(), err)
	}
	content, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(content), "theme = \"light\" # mine\n") {
		t.Errorf("the file has %q, %v", content, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".new-*")); len(left) > 0 {
		t.Errorf("it leaves %v", left)
	}
}

// TestSaveKeepsTheOwner: if root's monitor runs with a user's HOME, that user still owns the file.
func TestSaveKeepsTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make another user's file")
	}
	const user, group = 4711, 4242
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, user, group)); err != nil {
		t.Fatal(err)
	}
	if err := Save(path, set, setKeys); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil || st.Uid != user || st.Gid != group || st.Mode&0o777 != 0o600 {
		t.Errorf("%d:%d, mode %o, %v", st.Uid, st.Gid, st.Mode, err)
	}
}

func TestSaveMakesANewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config", Name)
	if err := Save(path, set, setKeys); err != nil {
		t.Fatal(err)
	}
	s, want := Defaults(), Defaults()
	set(&want)
	if err := s.Load(path); err != nil || !reflect.DeepEqual(s, want) {
		t.Errorf("it sets %+v, %v", s, err)
	}
}

// TestSaveSaysThatItWroteNothing: a setup without a change does not claim that it wrote the file.
func TestSaveSaysThatItWroteNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), Name)
	if err := Save(path, func(*Settings) {}, setKeys); !errors.Is(err, errUnchanged) {
		t.Errorf("nothing differs from the defaults: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it has made a file: %v", err)
	}
	if err := Save(path, set, setKeys); err != nil {
		t.Fatal(err)
	}
	if err := Save(path, set, setKeys); !errors.Is(err, errUnchanged) {
		t.Errorf("the file has them: %v", err)
	}
}

// TestSaveRefuses: the error names the file that cannot be written.
func TestSaveRefuses(t *testing.T) {
	dir := t.TempDir()
	broken, invalid := filepath.Join(dir, "link"), filepath.Join(dir, "invalid.toml")
	if err := errors.Join(os.Symlink("nowhere", broken), os.WriteFile(invalid, []byte("theme = dark\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		broken:                           "cannot write " + broken + ": it is a link to a file that is not there",
		invalid:                          invalid + ":1:",
		dir:                              "cannot write " + dir + ": is a directory",
		filepath.Join(invalid, "x.toml"): "cannot write " + filepath.Join(invalid, "x.toml") + ": not a directory",
	} {
		if err := Save(path, set, setKeys); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	if os.Geteuid() == 0 {
		return // root may write it
	}
	if err := errors.Join(os.WriteFile(invalid, nil, 0o600), os.Chmod(invalid, 0o400)); err != nil {
		t.Fatal(err)
	}
	if err := Save(invalid, set, setKeys); err == nil || err.Error() != "cannot write "+invalid+": permission denied" {
		t.Errorf("a file that may not be written: %v", err)
	}
}

// FuzzSave: for every valid file, the settings are in it afterwards, and no other setting has changed.
func FuzzSave(f *testing.F) {
	for _, content := range []string{DefaultFile(), example, "theme='dark'#x", "\"theme\"=\"dark\"\r\n[daemon]", "guard = {mode='off'}\n", "\ufeff", "columns=[\n#x\n'GPU' ,]\n[[guard.rule]]"} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content string) {
		now := Defaults()
		if now.parse("f", []byte(content)) != nil {
			return
		}
		edited, err := edit("f", []byte(content), set, setKeys)
		if err != nil {
			t.Fatalf("%q: %v", content, err)
		}
		want := now
		set(&want)
		if back := Defaults(); back.parse("f", edited) != nil || !reflect.DeepEqual(back, want) {
			t.Fatalf("%q becomes %q", content, edited)
		}
	})
}
