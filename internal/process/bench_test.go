package process

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// BenchmarkTick measures a tick that reads 64 processes.
func BenchmarkTick(b *testing.B) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		b.Skip("no /proc here")
	}
	// The 64 are one real process under 64 names: the kernel does the same work as for 64 processes.
	root := b.TempDir()
	pids := make([]int, 64)
	for i := range pids {
		pids[i] = 100000 + i
		if err := os.Symlink("/proc/"+strconv.Itoa(os.Getpid()), filepath.Join(root, strconv.Itoa(pids[i]))); err != nil {
			b.Fatal(err)
		}
	}
	table := NewTable(root)
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second)
		if len(infos(table, now, pids)) != len(pids) {
			b.Fatal("a process is missing")
		}
	}
}

// BenchmarkFirstLook measures the first call of a one-shot command, for 64 processes.
func BenchmarkFirstLook(b *testing.B) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		b.Skip("no /proc here")
	}
	root := b.TempDir()
	pids := make([]int, 64)
	for i := range pids {
		pids[i] = 100000 + i
		if err := os.Symlink("/proc/"+strconv.Itoa(os.Getpid()), filepath.Join(root, strconv.Itoa(pids[i]))); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if len(infos(NewTable(root), time.Now(), pids)) != len(pids) {
			b.Fatal("a process is missing")
		}
	}
}

func BenchmarkHost(b *testing.B) {
	table := NewTable("/proc")
	b.ReportAllocs()
	for b.Loop() {
		table.Host(time.Time{})
	}
}
