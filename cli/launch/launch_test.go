package launch

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"testing"

	"vramscope/probe/preload"
)

func TestPythonPathComesFirstAndOnce(t *testing.T) {
	for was, want := range map[string]string{
		"":                     "/probe",
		"PYTHONPATH=":          "/probe",
		"PYTHONPATH=/a:/b":     "/probe:/a:/b",
		"PYTHONPATH=:/a":       "/probe::/a", // the working directory stays
		"PYTHONPATH=/a:/probe": "/probe:/a",
	} {
		got := WithPythonPath([]string{"HOME=/", was}, "/probe")
		if got[len(got)-1] != "PYTHONPATH="+want || !slices.Contains(got, "HOME=/") {
			t.Errorf("%q becomes %q, want %q", was, got, want)
		}
	}
}

func TestPreloadComesLastAndOnce(t *testing.T) {
	library := "/cache/" + preload.FileName
	for was, want := range map[string]string{
		"HOME=/":           library,
		"LD_PRELOAD=/a.so": "/a.so:" + library,
		"LD_PRELOAD=/a.so /old/" + preload.FileName:  "/a.so:" + library,
		"LD_PRELOAD=/old/" + preload.FileName + ":/": "/:" + library,
	} {
		got := WithPreload([]string{was, "ASAN_OPTIONS=a=1"}, library)
		if !slices.Contains(got, "LD_PRELOAD="+want) || !slices.Contains(got, "ASAN_OPTIONS=a=1:verify_asan_link_order=0") {
			t.Errorf("%q becomes %q, want %q", was, got, want)
		}
	}
}

// TestInterpretersOfScriptsAreFound: an interpreter behind env is found, too.
func TestInterpretersOfScriptsAreFound(t *testing.T) {
	python := filepath.Join(t.TempDir(), "python3")
	script := filepath.Join(t.TempDir(), "train")
	if os.WriteFile(python, nil, 0o700) != nil || os.WriteFile(script, []byte("#!/usr/bin/env -S "+python+" -I\n"), 0o700) != nil {
		t.Fatal("no files")
	}
	for path, want := range map[string]bool{python: true, script: true, "/bin/true": false} {
		if got := Inspect(path, []string{path}); got.python != want || got.Refusal != "" {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func TestPythonHasItsOwnProbeUnlessPreloadIsWanted(t *testing.T) {
	command := Command{Name: "python3", python: true, path: "/nowhere/python3"}
	if yes, why := (Preloading{}).Decide(&command); yes || why != "Python has its own probe" {
		t.Errorf("%v, %q", yes, why)
	}
	if yes, why := (Preloading{Unwanted: true}).Decide(&Command{}); yes || why != "--no-preload" {
		t.Errorf("%v, %q", yes, why)
	}
}

func TestCacheNeedsAnAbsoluteDirectory(t *testing.T) {
	account, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	own := account.HomeDir + "/.cache/vramscope"
	for _, c := range []struct{ cache, home, want string }{
		{"/c", "/h", "/c/vramscope"}, {"relative", "/h/", "/h/.cache/vramscope"}, {"", "/h", "/h/.cache/vramscope"},
		{"", "relative", own}, {"", "", own},
	} {
		got, err := Cache(func(name string) string { return map[string]string{"XDG_CACHE_HOME": c.cache, "HOME": c.home}[name] })
		if got != c.want || err != nil {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}
