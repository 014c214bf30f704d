//go:build linux

package attach

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// lying is a temporary directory in which payloads of somebody who was killed lie.
type lying struct {
	*testing.T
	directory string
	dead      mark // of a maker that is no more
}

func newLying(t *testing.T) *lying {
	t.Helper()
	own, ok := ownMark(born{})
	if !ok {
		t.Skip("this /proc does not tell who this is")
	}
	own.maker.start++ // another process once had this pid
	return &lying{t, t.TempDir(), own}
}

// make makes a payload's directory and returns its path.
func (l *lying) make(m mark, files ...string) string {
	l.Helper()
	path, err := os.MkdirTemp(l.directory, m.pattern())
	if err != nil {
		l.Fatal(err)
	}
	for _, name := range files {
		if err := os.WriteFile(filepath.Join(path, name), []byte("content"), 0o600); err != nil {
			l.Fatal(err)
		}
	}
	return path
}

// left clears, and returns what is in a directory then; nil where that is gone.
func (l *lying) left(path string) []string {
	l.Helper()
	clearLeftovers(l.directory, uint32(os.Geteuid()))
	entries, err := os.ReadDir(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		l.Fatal(err)
	}
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

var everyFile = []string{"failed.new", "gdb", "image", "payload.py", "start.py", "started.new", "vramscope_probe.py"}

func TestWhatTheKilledHaveLeftIsCleared(t *testing.T) {
	l := newLying(t)
	for _, files := range [][]string{{}, everyFile, append([]string{startedName}, everyFile...)} {
		if left := l.left(l.make(l.dead, files...)); left != nil {
			t.Errorf("of %v is left %v", files, left)
		}
	}
}

func TestWhatIsNoLeftoverStays(t *testing.T) {
	l := newLying(t)
	living, elsewhere, nobody := l.dead, l.dead, l.dead
	living.maker.start--
	elsewhere.namespace++
	nobody.maker.pid = 0
	for name, m := range map[string]mark{"of the living": living, "of another pid namespace": elsewhere, "of nobody": nobody} {
		if left := l.left(l.make(m, everyFile...)); !slices.Equal(left, everyFile) {
			t.Errorf("%s: there is %v left", name, left)
		}
	}
	for _, name := range []string{"vramscope-attach-1234567", "vramscope-attach-1-2-3-4-5", "vramscope-attach--1-2-3-4-5-6", "vramscope-attach-1-2-3-4-99999999999999999999-6", "other"} {
		path := filepath.Join(l.directory, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if l.left(path) == nil {
			t.Errorf("%s is gone", name)
		}
	}

	open := l.make(l.dead, everyFile...)
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if left := l.left(open); !slices.Equal(left, everyFile) {
		t.Errorf("of one that others can look into: there is %v left", left)
	}
	if os.Geteuid() == 0 {
		theirs := l.make(l.dead, everyFile...)
		if err := os.Chown(theirs, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if left := l.left(theirs); !slices.Equal(left, everyFile) {
			t.Errorf("of another user's: there is %v left", left)
		}
	}
	file := l.make(l.dead)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	clearLeftovers(l.directory, uint32(os.Geteuid()))
	if _, err := os.Lstat(file); err != nil {
		t.Errorf("a file of such a name: %v", err)
	}
}

// TestClearingFollowsNoLink: what looks like a leftover leads elsewhere.
func TestClearingFollowsNoLink(t *testing.T) {
	l := newLying(t)
	elsewhere := t.TempDir()
	precious := filepath.Join(elsewhere, payloadName)
	if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := func(target, name string) {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	must := func(what string) {
		t.Helper()
		clearLeftovers(l.directory, uint32(os.Geteuid()))
		if content, err := os.ReadFile(precious); err != nil || string(content) != "precious" {
			t.Errorf("%s: %q, %v", what, content, err)
		}
	}
	whole := l.make(l.dead)
	if err := os.Remove(whole); err != nil {
		t.Fatal(err)
	}
	link(elsewhere, whole)
	must("a link in place of the directory")

	inside := l.make(l.dead)
	link(precious, filepath.Join(inside, payloadName))
	must("a link in it")
	if _, err := os.Lstat(inside); !os.IsNotExist(err) {
		t.Errorf("the directory with a link: %v", err)
	}

	// A process that may come to the script keeps it; what is emptied is the script alone.
	awaited := l.dead
	awaited.target = born{l.dead.maker.pid, l.dead.maker.start - 1}
	link(precious, filepath.Join(l.make(awaited), scriptName))
	must("a link in place of the script")
	if err := os.Link(precious, filepath.Join(l.make(awaited), scriptName)); err != nil {
		t.Fatal(err)
	}
	must("another name of the script")

	// What nobody has put there goes nowhere, and neither does a directory.
	strange := l.make(l.dead, "precious")
	if err := os.Mkdir(filepath.Join(strange, imageName), 0o700); err != nil {
		t.Fatal(err)
	}
	if left := l.left(strange); !slices.Equal(left, []string{imageName, "precious"}) {
		t.Errorf("of what is no payload's is left %v", left)
	}
}

// TestAScriptThatIsAwaitedStaysEmpty: Python would complain of one that is gone.
func TestAScriptThatIsAwaitedStaysEmpty(t *testing.T) {
	l := newLying(t)
	m := l.dead
	m.target = born{l.dead.maker.pid, l.dead.maker.start - 1} // this process
	path := l.make(m, everyFile...)
	if left := l.left(path); !slices.Equal(left, []string{scriptName}) {
		t.Fatalf("there is %v left", left)
	}
	if content, err := os.ReadFile(filepath.Join(path, scriptName)); err != nil || len(content) > 0 {
		t.Errorf("the script is %q, %v", content, err)
	}
	if left := l.left(path); !slices.Equal(left, []string{scriptName}) {
		t.Errorf("a second time: there is %v left", left)
	}
	// It has come to it, or has ended.
	for _, name := range []string{startedName, failedName} {
		if left := l.left(l.make(m, append([]string{name}, everyFile...)...)); left != nil {
			t.Errorf("after it has %s: there is %v left", name, left)
		}
	}
	m.target.start += 2
	if left := l.left(l.make(m, everyFile...)); left != nil {
		t.Errorf("of one that has ended: there is %v left", left)
	}
}

// TestAGdbThatStillWorksKeepsItsFiles.
func TestAGdbThatStillWorksKeepsItsFiles(t *testing.T) {
	l := newLying(t)
	path := l.make(l.dead, everyFile...)
	output, err := os.OpenFile(filepath.Join(path, debuggerName), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(output.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Skipf("this file system has no locks: %v", err)
	}
	if left := l.left(path); !slices.Equal(left, everyFile) {
		t.Errorf("there is %v left", left)
	}
	if err := output.Close(); err != nil {
		t.Fatal(err)
	}
	if left := l.left(path); left != nil {
		t.Errorf("after its end there is %v left", left)
	}
}

// TestTheNextPayloadClearsWhatIsLeft, and its own directory says whose it is.
func TestTheNextPayloadClearsWhatIsLeft(t *testing.T) {
	l := newLying(t)
	left := l.make(l.dead, everyFile...)
	t.Setenv("TMPDIR", l.directory)
	p, err := newPayload(born{5, 6})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(left); !os.IsNotExist(err) {
		t.Errorf("the leftover: %v", err)
	}
	if m, ok := parseMark(filepath.Base(p.directory)); !ok || !m.maker.mayLive() || m.target != (born{5, 6}) {
		t.Errorf("its own is %s", p.directory)
	}
	p.remove()
	if names, err := os.ReadDir(l.directory); err != nil || len(names) > 0 {
		t.Errorf("there is %v left, %v", names, err)
	}
	if !strings.HasPrefix(filepath.Base(p.directory), payloadPrefix) {
		t.Errorf("it was called %s", p.directory)
	}
}
