//go:build linux

package probe

import (
	"os"
	"strconv"
	"testing"

	"vramscope/internal/process"
)

func TestDirectoryOfWrongOwnerIsIgnored(t *testing.T) {
	const stranger = 3999999999
	path := "/tmp/vramscope-" + strconv.Itoa(stranger)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(path) })
	m := NewMonitor(NewFinder(process.NewTable("/proc")), MonitorOptions{Directories: []string{t.TempDir()}})
	m.everyone = true
	m.findOthers()
	if uid, counted := m.others[path]; counted {
		t.Errorf("%s counts as user %d's", path, uid)
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Chown(path, stranger, stranger); err != nil {
		t.Fatal(err)
	}
	if m.findOthers(); m.others[path] != stranger {
		t.Errorf("%s is not found", path)
	}
}

// TestOneDirectoryForEachUser: a user who makes many directories that read as its
// number fills no list.
func TestOneDirectoryForEachUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root looks for other users' directories")
	}
	const stranger = 3999999998
	path := "/tmp/vramscope-0" + strconv.Itoa(stranger)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(path) })
	if err := os.Chown(path, stranger, stranger); err != nil {
		t.Fatal(err)
	}
	m := NewMonitor(NewFinder(process.NewTable("/proc")), MonitorOptions{Directories: []string{t.TempDir()}})
	m.everyone = true
	if m.findOthers(); m.others[path] != 0 {
		t.Errorf("%s counts as user %d's", path, m.others[path])
	}
}
