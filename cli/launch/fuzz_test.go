package launch

import (
	"slices"
	"strings"
	"testing"

	"vramscope/probe/preload"
)

// FuzzCommandLine: the words of a script's first line and of env's arguments, and Python's version,
// occur in the input.
func FuzzCommandLine(f *testing.F) {
	for _, line := range []string{
		"#!/usr/bin/env -S python3 -I -u\nimport x", "#! /bin/sh -e\r\n", "#!", "#!\n", "\x7fELF", "#!/usr/bin/env\x00python3", "#!" + strings.Repeat("a ", 130),
		"-uIX\x00dev\x00-W\x00x.py", "-S=1\x00-i\x00A=B\x00python3\x00-c\x00x", "--check-hash-based-pycs\x00-Es\x00-\xff\x00-字",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, content string) {
		for _, word := range parseShebang([]byte(content)) {
			first, _, _ := strings.Cut(content, "\n")
			if word == "" || !strings.HasPrefix(content, "#!") || !strings.Contains(first, word) || strings.ContainsAny(word, " \t\n") {
				t.Errorf("%q: %q", content, word)
			}
		}
		arguments := strings.Split(content, "\x00")
		for _, word := range afterEnv(arguments) {
			if !strings.Contains(content, word) {
				t.Errorf("%q: %q", arguments, word)
			}
		}
		if version := oldPython(content); version != "" && !strings.Contains(content, version) {
			t.Errorf("%q: version %q", content, version)
		}
	})
}

// FuzzEnvironment: the other variables stay, in their order, and adding twice adds no more than once.
func FuzzEnvironment(f *testing.F) {
	f.Add("LD_PRELOAD=/a.so:/b.so\x00PATH=/bin\x00ASAN_OPTIONS=x=1\x00PYTHONPATH=/p::/q")
	f.Add("LD_PRELOAD= \x00LD_PRELOAD=/x/" + preload.FileName + " y\x00ASAN_OPTIONS=verify_asan_link_order=1\x00=\x00PYTHONPATH=")
	f.Fuzz(func(t *testing.T, content string) {
		const library, directory = "/new/" + preload.FileName, "/new/agent"
		environ := strings.Split(content, "\x00")
		ours := func(v string) bool {
			return strings.HasPrefix(v, "LD_PRELOAD=") || strings.HasPrefix(v, "ASAN_OPTIONS=") || strings.HasPrefix(v, "PYTHONPATH=")
		}
		others := slices.DeleteFunc(slices.Clone(environ), ours)
		with := WithPythonPath(WithPreload(environ, library), directory)
		if rest := slices.DeleteFunc(slices.Clone(with), ours); !slices.Equal(rest, others) {
			t.Errorf("%q: the others become %q", environ, rest)
		}
		list, rest := split(with, "LD_PRELOAD")
		if !strings.HasSuffix(":"+list, ":"+library) || strings.Count(list, preload.FileName) != 1 && !strings.Contains(content, preload.FileName) || len(rest) != len(with)-1 {
			t.Errorf("%q: LD_PRELOAD is %q", environ, list)
		}
		again := WithPythonPath(WithPreload(with, library), directory)
		for _, name := range []string{"LD_PRELOAD", "ASAN_OPTIONS", "PYTHONPATH"} {
			once, _ := split(with, name)
			if twice, _ := split(again, name); once != twice {
				t.Errorf("%q: %s is %q, then %q", environ, name, once, twice)
			}
		}
	})
}
