//go:build linux

package attach

import (
	"strings"
	"testing"
)

func TestVersions(t *testing.T) {
	for name, want := range map[string]string{
		"python3.9": "3.9", "python3.13t": "3.13", "python3.8.so.1.0": "3.8", "python3.7m": "3.7", "python2.7": "2.7",
		"python3": "", "python": "", "python3.so": "", "pypy3.9": "", "python3.x": "",
	} {
		v, _ := versionInName(name)
		if v.String() != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
	if v, ok := parseVersion("Python 3.9.18\n"); !ok || v != (version{3, 9, 18}) {
		t.Errorf("%v, %v", v, ok)
	}
	if v, ok := parseVersion("usage: something else"); ok {
		t.Errorf("%v", v)
	}
	for text, want := range map[string]string{
		"GNU gdb (Debian 13.1-3) 13.1\nCopyright": "13.1", "GNU gdb (GDB) Red Hat Enterprise Linux 8.2-20.el8": "8.2-20.el8",
		"": "", "something": "",
	} {
		if got := gdbVersion(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestInstead(t *testing.T) {
	for line, want := range map[string]string{
		"/opt/conda/bin/python -u -X dev /home/bob/eval.py --suite mmlu": "/opt/conda/bin/python -u -X dev /home/bob/eval.py --suite mmlu",
		"python3 -W error -m torch.distributed.run --nproc 8":            "python3 -W error -m torch.distributed.run --nproc 8",
		"python3 -c print('a')":                        `python3 -c 'print('\''a'\'')'`,
		"python3 run.py a;rm $HOME":                    "python3 run.py 'a;rm' '$HOME'",
		"python3 run.py \x1b[2J secret":                "python3 run.py …",
		"python3 run.py a " + strings.Repeat("x", 400): "python3 run.py a …",
		"/x/tritonserver --model-repository=/models":   "/x/tritonserver --model-repository=/models",
		"python3 -": "", "python3": "", "python3 -X": "", "python3 -c": "", "gunicorn: master": "", "": "",
	} {
		if want != "" {
			want = "vramscope run -- " + want
		}
		if got := instead(strings.Fields(line)); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	if got := instead([]string{"python3", "my script.py", ""}); got != "vramscope run -- python3 'my script.py' ''" {
		t.Errorf("words that need quotes: %q", got)
	}
}
