package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"vramscope/internal/quantity"
)

// tree is a fake proc file system.
type tree struct {
	t    testing.TB
	root string
	uids sync.Map // owners of directories
}

func newTree(t testing.TB) *tree {
	tr := &tree{t: t, root: t.TempDir()}
	tr.file("meminfo", "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    400 kB\nHugePages_Total:       0\n")
	tr.file("loadavg", "3.25 2.00 1.00 5/1234 4321\n")
	tr.file("passwd", "root:x:0:0::/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\nmalformed\nx:y:z:1\n")
	return tr
}

// table returns a table of the tree. In the tree the machine booted at second 0 and is called
// this-machine, and the directory service knows no names.
func (tr *tree) table() *Table {
	table := NewTable(tr.root)
	table.hostname = "this-machine"
	table.Timeout = 10 * time.Second // for loaded machines
	table.boot = func(time.Time) time.Time { return time.Unix(0, 0) }
	table.users = newUsers(filepath.Join(tr.root, "passwd"))
	table.users.lookup = noName
	table.owner = func(directory string) quantity.Optional[uint32] {
		uid, known := tr.uids.Load(directory)
		if !known {
			return quantity.Unknown[uint32]()
		}
		return quantity.From(uid.(uint32), quantity.System)
	}
	return table
}

// add makes a process that started pid seconds after the machine booted.
func (tr *tree) add(pid int, name string, uid int) {
	tr.stat(pid, name, uint64(pid)*ticksPerSecond, 0)
	tr.uids.Store(filepath.Join(tr.root, strconv.Itoa(pid)), uint32(uid))
	tr.write(pid, "cmdline", "/usr/bin/python3\x00train.py\x00--lr\x001e-4\x00")
	tr.write(pid, "cgroup", "0::/user.slice\n")
	tr.link(pid, "ns/pid", "pid:[4026531836]")
}

func (tr *tree) stat(pid int, name string, start, ticks uint64) {
	tr.state(pid, name, "S", 12, start, ticks)
}

// state writes the stat of a process in a given state, with a number of threads.
func (tr *tree) state(pid int, name, state string, threads int, start, ticks uint64) {
	tr.write(pid, "stat", fmt.Sprintf("%d (%s) %s 1 7 7 0 -1 4194304 100 0 3 0 %d 0 0 0 20 0 %d 0 %d 4096000 2048 0 1 1\n", pid, name, state, ticks, threads, start))
}

func (tr *tree) write(pid int, name, content string) {
	tr.file(filepath.Join(strconv.Itoa(pid), name), content)
}

func (tr *tree) file(name, content string) {
	tr.t.Helper()
	path := filepath.Join(tr.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *tree) link(pid int, name, target string) {
	tr.t.Helper()
	path := filepath.Join(tr.root, strconv.Itoa(pid), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *tree) remove(pid int, name string) {
	tr.t.Helper()
	if err := os.RemoveAll(filepath.Join(tr.root, strconv.Itoa(pid), name)); err != nil {
		tr.t.Fatal(err)
	}
}

// at returns a moment: one hour after the machine booted, and the given seconds later.
func at(seconds float64) time.Time {
	return time.Unix(3600, 0).Add(time.Duration(seconds * float64(time.Second)))
}

// infos returns the processes that a table finds, by pid.
func infos(table *Table, now time.Time, pids []int) map[int]Info {
	all := make(map[int]Info)
	table.Processes(now, pids, func(info *Info) { all[info.Identity.PID] = *info })
	return all
}
