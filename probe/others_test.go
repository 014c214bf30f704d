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
