package process

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// byName stands in for deviceOf. It takes the device from the name of the link.
func byName(_, link string) (minor int, shared, ok bool) {
	minor, err := strconv.Atoi(strings.TrimPrefix(link, "/dev/nvidia"))
	return minor, err != nil, true
}

func TestHolders(t *testing.T) {
	tree := newTree(t)
	for pid, links := range map[int][]string{
		500: {"/dev/null", "/dev/nvidiactl", "/dev/nvidia3", "/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidia0"},
		501: {"/dev/nvidiactl", "/dev/nvidia-uvm"},
		502: {"/dev/pts/1", "socket:[1]", "/home/x/dev/nvidia0"},
		503: {},
	} {
		tree.add(pid, "train", 1000)
		for i, link := range links {
			tree.link(pid, filepath.Join("fd", strconv.Itoa(i)), link)
		}
	}
	table := tree.table()
	table.device = byName
	found := table.Holders()
	byPID := map[int][]int{}
	for _, h := range found {
		byPID[h.PID] = h.Minors
	}
	if want := (map[int][]int{500: {0, 3}, 501: nil}); !reflect.DeepEqual(byPID, want) {
		t.Errorf("got %v, want %v", byPID, want)
	}
}

// TestHoldersNeedTheDevice: in its own mount namespace a process can give any file the name /dev/nvidia0.
func TestHoldersNeedTheDevice(t *testing.T) {
	for _, path := range []string{"/dev/null", t.TempDir(), "/nowhere"} {
		if minor, shared, ok := deviceOf(path, "/dev/nvidia0"); ok {
			t.Errorf("%s is minor %d, shared %v", path, minor, shared)
		}
	}
}

// BenchmarkHolders measures the search among 5,000 processes with 20 files each.
func BenchmarkHolders(b *testing.B) {
	tree := newTree(b)
	for pid := range 5000 {
		for i := range 20 {
			tree.link(pid+1, fmt.Sprintf("fd/%d", i), "/dev/pts/1")
		}
	}
	tree.link(77, "fd/30", "/dev/nvidia1")
	table := tree.table()
	table.device = byName
	for b.Loop() {
		if found := table.Holders(); len(found) != 1 {
			b.Fatal(found)
		}
	}
}
