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

// leftovers is a temporary directory with payloads of a killed maker.
type leftovers struct {
	*testing.T
	directory string
	dead      mark // of a maker that has exited
}

func newLeftovers(t *testing.T) *leftovers {
	t.Helper()
	own, ok := ownMark(born{})
	if !ok {
		t.Skip("this /proc does not identify this process")
	}
	own.maker.start++ // an earlier process with this pid
	return &leftovers{t, t.TempDir(), own}
}

// make makes a payload's directory and returns its path.
func (l *leftovers) make(m mark, files ...string) string {
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

// left clears the leftovers, and returns what remains in a directory; nil if it was
// removed.
func (l *leftovers) left(path string) []string {
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

var everyFile = []string{"claim", "failed", "gdb", "image", "start.py"}

func TestLeftoversAreCleared(t *testing.T) {
	l := newLeftovers(t)
	for _, files := range [][]string{{}, everyFile, {debuggerName}} {
		if left := l.left(l.make(l.dead, files...)); left != nil {
			t.Errorf("of %v remains %v", files, left)
		}
	}
}

func TestOtherDirectoriesStay(t *testing.T) {
	l := newLeftovers(t)
	living, elsewhere, invalid := l.dead, l.dead, l.dead
	living.maker.start--
	elsewhere.namespace++
	invalid.maker.pid = 0
	for name, m := range map[string]mark{"running maker": living, "another pid namespace": elsewhere, "invalid pid": invalid} {
		if left := l.left(l.make(m, everyFile...)); !slices.Equal(left, everyFile) {
			t.Errorf("%s: %v remains", name, left)
		}
	}
	for _, name := range []string{"vramscope-attach-1234567", "vramscope-attach-1-2-3-4-5", "vramscope-attach--1-2-3-4-5-6", "vramscope-attach-1-2-3-4-99999999999999999999-6", "other"} {
		path := filepath.Join(l.directory, name)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if l.left(path) == nil {
			t.Errorf("%s was removed", name)
		}
	}

	open := l.make(l.dead, everyFile...)
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if left := l.left(open); !slices.Equal(left, everyFile) {
		t.Errorf("readable by others: %v remains", left)
	}
	if os.Geteuid() == 0 {
		theirs := l.make(l.dead, everyFile...)
		if err := os.Chown(theirs, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if left := l.left(theirs); !slices.Equal(left, everyFile) {
			t.Errorf("another user's: %v remains", left)
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
		t.Errorf("a file of that name: %v", err)
	}
}

func TestClearingFollowsNoLink(t *testing.T) {
	l := newLeftovers(t)
	elsewhere := t.TempDir()
	precious := filepath.Join(elsewhere, imageName)
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
	link(precious, filepath.Join(inside, imageName))
	must("a link in it")
	if _, err := os.Lstat(inside); !os.IsNotExist(err) {
		t.Errorf("the directory with a link: %v", err)
	}

	// An awaited script stays and is emptied; nothing else is.
	awaited := l.dead
	awaited.target = born{l.dead.maker.pid, l.dead.maker.start - 1}
	link(precious, filepath.Join(l.make(awaited), scriptName))
	must("a link in place of the script")
	if err := os.Link(precious, filepath.Join(l.make(awaited), scriptName)); err != nil {
		t.Fatal(err)
	}
	must("another name of the script")

	// Unknown files and directories stay.
	strange := l.make(l.dead, "precious")
	if err := os.Mkdir(filepath.Join(strange, imageName), 0o700); err != nil {
		t.Fatal(err)
	}
	if left := l.left(strange); !slices.Equal(left, []string{imageName, "precious"}) {
		t.Errorf("of unknown files remains %v", left)
	}
}

// TestAwaitedScriptStaysEmpty: Python would report a missing script.
func TestAwaitedScriptStaysEmpty(t *testing.T) {
	l := newLeftovers(t)
	m := l.dead
	m.target = born{l.dead.maker.pid, l.dead.maker.start - 1} // this process
	path := l.make(m, everyFile...)
	if left := l.left(path); !slices.Equal(left, []string{scriptName}) {
		t.Fatalf("%v remains", left)
	}
	if content, err := os.ReadFile(filepath.Join(path, scriptName)); err != nil || len(content) > 0 {
		t.Errorf("the script is %q, %v", content, err)
	}
	if left := l.left(path); !slices.Equal(left, []string{scriptName}) {
		t.Errorf("a second time: %v remains", left)
	}
	m.target.start += 2
	if left := l.left(l.make(m, everyFile...)); left != nil {
		t.Errorf("after its exit: %v remains", left)
	}
}

func TestRunningGdbKeepsItsFiles(t *testing.T) {
	l := newLeftovers(t)
	path := l.make(l.dead, everyFile...)
	output, err := os.OpenFile(filepath.Join(path, debuggerName), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(output.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Skipf("this file system has no locks: %v", err)
	}
	if left := l.left(path); !slices.Equal(left, everyFile) {
		t.Errorf("%v remains", left)
	}
	if err := output.Close(); err != nil {
		t.Fatal(err)
	}
	if left := l.left(path); left != nil {
		t.Errorf("after gdb's exit: %v remains", left)
	}
}

func TestNewPayloadClearsLeftovers(t *testing.T) {
	l := newLeftovers(t)
	left := l.make(l.dead, everyFile...)
	t.Setenv("TMPDIR", l.directory)
	p, err := newPayload(born{5, 6}, &status{}, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(left); !os.IsNotExist(err) {
		t.Errorf("the leftover: %v", err)
	}
	if m, ok := parseMark(filepath.Base(p.directory)); !ok || !m.maker.mayLive() || m.target != (born{5, 6}) {
		t.Errorf("its own directory is %s", p.directory)
	}
	p.remove()
	if names, err := os.ReadDir(l.directory); err != nil || len(names) > 0 {
		t.Errorf("%v remains, %v", names, err)
	}
	if !strings.HasPrefix(filepath.Base(p.directory), payloadPrefix) {
		t.Errorf("its directory is %s", p.directory)
	}
}
