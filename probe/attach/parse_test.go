//go:build linux

package attach

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"vramscope/internal/needs"
)

func TestMapsAreRead(t *testing.T) {
	got := parseMaps(`00400000-00401000 r--p 00000000 fe:01 123                                /usr/bin/py thon (deleted)
00401000-00500000 r-xp 00001000 fe:01 123                                /usr/bin/py thon
7fff0000-7fff1000 rw-p 00000000 00:00 0                                  [stack]
7f000000-7f001000 rw-p 00000000 00:00 0 
nonsense
zz-00 r-xp 0 0 0 /x
`)
	want := []mapping{
		{0x400000, 0x401000, 0, false, "/usr/bin/py thon", true},
		{0x401000, 0x500000, 0x1000, true, "/usr/bin/py thon", false},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestWhatAThreadDoesIsRead(t *testing.T) {
	for line, want := range map[string]thread{
		"-1 0x7ffe 0x55aa\n": {call: -1, counter: 0x55aa, stack: 0x7ffe},
		"202 0x1 0x189 0x0 0x0 0x0 0xffffffff 0x7ffe 0x7f11\n": {call: 202, args: [6]uint64{1, 0x189, 0, 0, 0, 0xffffffff}, counter: 0x7f11, stack: 0x7ffe},
	} {
		if got, ok := parseSyscall(line); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
	for _, line := range []string{"running\n", "", "7 0x1 0x2\n", "-1 0x1 0x2 0x0 0x0 0x0 0x0 0x7ffe 0x1\n", "-1 0x7ffe zz\n", "-1 0x7ffe\n"} {
		if got, ok := parseSyscall(line); ok {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

// TestTheThreadIsChosenWithCare: never one that may be in the C library's heap.
func TestTheThreadIsChosenWithCare(t *testing.T) {
	numbers := waiting[runtime.GOARCH]
	if numbers == nil {
		t.Skip("there is no way in on " + runtime.GOARCH)
	}
	const memory = 9999
	python := &python{text: []mapping{{start: 0x1000, end: 0x2000}}, library: []mapping{{start: 0x7000, end: 0x8000}}}
	futex := func(id int, operation uint64) thread {
		return thread{id: id, call: numbers.futex, args: [6]uint64{0, operation}, counter: 0x7000}
	}
	reading := func(id int, counter uint64) thread { return thread{id: id, call: numbers.others[0], counter: counter} }
	masked, cramped := reading(1, 0x7fff), reading(1, 0x7fff)
	masked.inside, cramped.small = true, true
	computing := func(id int, counter uint64) thread { return thread{id: id, call: -1, counter: counter} }
	for name, c := range map[string]struct {
		threads []thread
		want    int
	}{
		"none":                     {nil, 0},
		"waits for a lock of libc": {[]thread{futex(1, 128)}, 0},
		"waits for a lock of ours": {[]thread{futex(1, 128), futex(2, 0x189)}, 2},
		"asks for memory":          {[]thread{{id: 1, call: memory}}, 0},
		"computes elsewhere":       {[]thread{computing(1, 0x2000), computing(2, 0xfff)}, 0},
		"computes in Python":       {[]thread{computing(1, 0x2000), computing(2, 0x1fff)}, 2},
		"in a handler":             {[]thread{{id: 1, call: -1, counter: 0x1800, inside: true}}, 0},
		"waiting before computing": {[]thread{computing(1, 0x1800), reading(2, 0x7123)}, 2},
		"unmasked before masked":   {[]thread{masked, reading(2, 0x7123)}, 2},
		"masked, if it must be":    {[]thread{masked, computing(2, 0x1800)}, 1},
		"of another runtime":       {[]thread{reading(1, 0x8000), reading(2, 0x1800)}, 0},
		"on a small stack":         {[]thread{cramped}, 0},
		"with room beside one":     {[]thread{cramped, reading(2, 0x7123)}, 2},
	} {
		if got, ok := choose(c.threads, python); ok != (c.want != 0) || got.id != c.want {
			t.Errorf("%s: thread %d, %v, want %d", name, got.id, ok, c.want)
		}
	}
}

// TestTheThreadIsNamedToGdb: by gdb's own number, whatever threads call themselves.
func TestTheThreadIsNamedToGdb(t *testing.T) {
	const said = `Attaching to process 123
[New LWP 124]
(gdb) Thread 1 has target id 'LWP 123'
Thread 1 has name 'python3'
Thread 2 has name 'Thread 7 has target id 'LWP 125''
Thread 2 has target id 'Thread 0x7f11 (LWP 124)'
Thread 3 has target id 'LWP 125'
(gdb) (gdb) Thread 4 has target id 'process 126'
`
	for id, want := range map[int]string{123: "1", 124: "2", 125: "3", 126: "4", 12: "", 127: ""} {
		if got := numberOf(thread{id: id}, said); got != want {
			t.Errorf("%d: %q, want %q", id, got, want)
		}
	}
}

func TestTheComplaintIsFound(t *testing.T) {
	for said, want := range map[string]string{
		"(gdb) Attaching to process 1\nwarning: x\nptrace: Operation not permitted.\n(gdb) No threads match '.'\n": "ptrace: Operation not permitted.",
		"(gdb) (gdb) Cannot access memory at address 0x0\n(gdb) \n":                                                "Cannot access memory at address 0x0",
		"": "it does not say why",
	} {
		if got := complaint(said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}

func TestStatusIsRead(t *testing.T) {
	const content = "Name:\tState:\tx\nState:\tt (tracing stop)\nTracerPid:\t12\nUid:\t1\t2\t3\t4\nSigBlk:\t0000000000000001\nSigCgt:\tffffffffffffffff\nCapEff:\t0000000000080000\n"
	got, err := parseStatus(content)
	want := status{state: 't', tracer: 12, uids: [4]uint32{1, 2, 3, 4}, caps: 1 << capSysPtrace, blocked: 1, caught: 1<<64 - 1}
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for _, cut := range []int{0, 40, 100, len(content) - 5} {
		if got, err := parseStatus(content[:cut]); err == nil && cut < len(content)-5 {
			t.Errorf("cut at %d: %+v", cut, got)
		}
	}
}

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

func TestInsteadIsALineToType(t *testing.T) {
	for line, want := range map[string]string{
		"/opt/conda/bin/python -u -X dev /home/bob/eval.py --suite mmlu": "python eval.py",
		"python3 -W error -m torch.distributed.run --nproc 8":            "python3 -m torch.distributed.run",
		"python3 -c code": "", "python3 -": "", "python3": "",
		"/x/tritonserver --model-repository=/models": "tritonserver",
		"python3 a;rm": "", "": "",
	} {
		if want != "" {
			want = "vramscope run -- " + want
		}
		if got := instead(strings.Fields(line)); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// TestTheImage is what the stub expects.
func TestTheImage(t *testing.T) {
	functions := map[string]function{
		"PyGILState_Ensure": {address: 1}, "PyGILState_Release": {address: 2}, "PyRun_SimpleString": {address: 3},
		"pthread_create": {address: 5}, "pthread_detach": {address: 6},
	}
	for architecture, code := range stubs {
		content, err := image(architecture, functions, 0x7000, "text")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(content, code) || !bytes.HasPrefix(content[starterAt:], starters[architecture]) || !bytes.HasSuffix(content, []byte("text\x00")) {
			t.Errorf("%s: %q", architecture, content)
		}
		for i, want := range []uint64{1, 2, 3, 0x7000 + textAt, 0x7000, 5, 6} {
			if got := binary.LittleEndian.Uint64(content[wordsAt+8*i:]); got != want {
				t.Errorf("%s: word %d is %#x, want %#x", architecture, i, got, want)
			}
		}
		if _, err := image(architecture, functions, 0, strings.Repeat("x", imageSize-textAt)); err == nil {
			t.Errorf("%s: a text that is too long fits", architecture)
		}
	}
}

// TestThePayloadInHostilePlaces: the path of the temporary directory is nobody's
// code, and the program's own names do not matter.
func TestThePayloadInHostilePlaces(t *testing.T) {
	python := needs.Tool(t, "python3")
	scratch := filepath.Join(t.TempDir(), "a'); print(\"b\\\n\xff é {x} % ")
	if err := os.Mkdir(scratch, 0o700); err != nil {
		t.Skipf("this file system takes no such name: %v", err)
	}
	t.Setenv("TMPDIR", scratch)
	p, err := newPayload(born{})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(p.directory); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its directory: %v, %v", info, err)
	}
	run := func(before string) string {
		cmd := exec.Command(python, "-c", before+"\n"+p.text()+"\nprint(open, sorted(n for n in globals() if not n.startswith('__')))")
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir(), "PYTHONPATH=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if out := run("open = exec = compile = 7"); out != "7 ['compile', 'exec', 'open']\n" {
		t.Errorf("the program has now %s", out)
	}
	if !p.started() || p.failure() != "" {
		t.Errorf("started %v, failure %q", p.started(), p.failure())
	}
	// What goes wrong is told, in the directory and nowhere else.
	if err := os.Remove(filepath.Join(p.directory, startedName)); err != nil {
		t.Fatal(err)
	}
	if out := run("import sys, types\nsys.modules['vramscope_probe'] = types.ModuleType('vramscope_probe')"); strings.Contains(out, "rror") {
		t.Errorf("the program says %s", out)
	}
	if p.started() || !strings.Contains(p.failure(), "AttributeError: ") {
		t.Errorf("started %v, failure %q", p.started(), p.failure())
	}
	// Once it is gone nothing happens.
	p.remove()
	if out := run("pass"); out != "<built-in function open> []\n" {
		t.Errorf("the program says %s", out)
	}
	if _, err := os.Stat(p.directory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

// TestAPayloadThatOthersCouldReplace is not made.
func TestAPayloadThatOthersCouldReplace(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	inside, link := filepath.Join(open, "inside"), filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.MkdirAll(inside, 0o700), os.Symlink(inside, link)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", link)
	for mode, allowed := range map[os.FileMode]bool{0o777: false, 0o770: false, 0o755: true, 0o777 | os.ModeSticky: true} {
		if err := os.Chmod(open, mode); err != nil {
			t.Fatal(err)
		}
		p, err := newPayload(born{})
		if (err == nil) != allowed {
			t.Errorf("%v: %v", mode, err)
		}
		if err == nil {
			p.remove()
		}
	}
	if _, err := trusted(open, uint32(os.Geteuid())+1); os.Geteuid() != 0 && err == nil {
		t.Error("another user's directory is trusted")
	}
}

func FuzzProc(f *testing.F) {
	f.Add("-1 0x7ffe 0x55aa")
	f.Add("00400000-00401000 r-xp 00000000 fe:01 123 /x (deleted)\n")
	f.Add("State:\tt\nTracerPid:\t12\nUid:\t1\t2\t3\t4\nSigBlk:\t0\nSigCgt:\tf\nCapEff:\t0\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got, ok := parseSyscall(text); ok && got.call < -1 {
			t.Errorf("%q: %+v", text, got)
		}
		for _, m := range parseMaps(text) {
			if m.end < m.start || !strings.HasPrefix(m.path, "/") {
				t.Errorf("%q: %+v", text, m)
			}
		}
		if s, err := parseStatus(text); err == nil && s.state == 0 {
			t.Errorf("%q: %+v", text, s)
		}
		if line := instead(strings.Fields(text)); strings.ContainsAny(line, ";|&$`'\"\n") {
			t.Errorf("%q: %q", text, line)
		}
	})
}
