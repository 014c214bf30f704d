package probe

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/process"
)

func spawnMany(t testing.TB, directory string, n int) []*child {
	t.Helper()
	children := make([]*child, n)
	gate := make(chan struct{}, runtime.NumCPU())
	var starting sync.WaitGroup
	for i := range children {
		starting.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			c, err := trySpawn(t, "serve", directory, nil)
			if err != nil {
				t.Error(err)
				return
			}
			children[i] = c
		})
	}
	starting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return children
}

// killAll kills the children, because ending a hundred takes longer than the test.
func killAll(children []*child) {
	for _, c := range children {
		if !c.waited {
			c.kill()
		}
	}
}

func TestMonitorReadsAHundredProbes(t *testing.T) {
	n := 100
	if testing.Short() {
		n = 20
	}
	dir := filepath.Join(t.TempDir(), "vramscope")
	children := spawnMany(t, dir, n)
	defer killAll(children)
	m := watch(t, dir)
	m.Settle(soon(t))
	eventually(t, "all answer", func() bool {
		for _, c := range children {
			if !answers(m, c.pid()) {
				return false
			}
		}
		return len(m.Answers()) == n
	})
	for _, c := range children[:n/2] {
		c.kill()
	}
	eventually(t, "half of them are forgotten, and the others answer", func() bool {
		for _, c := range children[n/2:] {
			if !answers(m, c.pid()) {
				return false
			}
		}
		return len(m.Answers()) == n-n/2
	})
}

// spent returns the processor time of this process.
func spent() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkMonitorOfAHundredProbes measures the monitor's processor time per second
// for a hundred probes at 1 Hz, including the scans.
func BenchmarkMonitorOfAHundredProbes(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "vramscope")
	defer killAll(spawnMany(b, dir, 100))
	m := NewMonitor(NewFinder(process.NewTable("/proc")), nil, []string{dir})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		m.Run(ctx)
		close(ended)
	}()
	m.Settle(context.Background())
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	from := spent()
	b.ResetTimer()
	for b.Loop() {
		m.Ask()
		_ = m.Answers()
		time.Sleep(time.Second)
	}
	b.ReportMetric((spent()-from).Seconds()*1000/float64(b.N), "cpu-ms/s")
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/1024/float64(b.N), "KiB/s")
	b.ReportMetric(float64(before.HeapAlloc)/1024, "heap-KiB")
	cancel()
	<-ended
}

// BenchmarkSearch measures one search for the probe of a process that has none.
func BenchmarkSearch(b *testing.B) {
	finder := NewFinder(process.NewTable("/proc"))
	for b.Loop() {
		if client, err := finder.Open(1); err == nil {
			_ = client.Close()
		}
	}
}

// BenchmarkScanLargeDirectory measures one scan of a directory that contains
// only names of other files.
func BenchmarkScanLargeDirectory(b *testing.B) {
	for _, names := range []int{1e5, 1e6} {
		dir := privateDirectory(b)
		fillDirectory(b, dir, "file", names)
		m := newMonitor(dir)
		scan := func(b *testing.B) {
			from := spent()
			for b.Loop() {
				m.mu.Lock()
				m.list(b.Context(), dir, func() uint32 { return uint32(os.Geteuid()) })
				m.mu.Unlock()
				m.running.Wait()
			}
			b.ReportMetric(float64((spent()-from).Microseconds())/1000/float64(b.N), "cpu-ms/scan")
		}
		b.Run("changing/"+strconv.Itoa(names), scan)
		time.Sleep(stampPrecision + 100*time.Millisecond)
		b.Run("unchanged/"+strconv.Itoa(names), scan)
	}
}

func TestDirectoryOfWrongOwnerIsIgnored(t *testing.T) {
	const stranger = 3999999999
	path := "/tmp/vramscope-" + strconv.Itoa(stranger)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(path) })
	m := NewMonitor(NewFinder(process.NewTable("/proc")), nil, []string{t.TempDir()})
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

// TestOneDirectoryForEachUser: a directory whose name has a leading zero in the user's number does
// not count, so a user cannot fill the list with such directories.
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
	m := NewMonitor(NewFinder(process.NewTable("/proc")), nil, []string{t.TempDir()})
	m.everyone = true
	if m.findOthers(); m.others[path] != 0 {
		t.Errorf("%s counts as user %d's", path, m.others[path])
	}
}

func TestForeignFilesAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vramscope")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	var files []string
	for _, name := range []string{"1-2.sock", "notes.txt", "x-1.sock", "007-1.sock", "1-2-3.sock", "-1-5.sock"} {
		path := filepath.Join(dir, name)
		files = append(files, path)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "3-4.sock")
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Fatal(err)
	}
	c := spawn(t, "serve", dir)
	m := watch(t, dir)
	eventually(t, "the probe among them answers", func() bool { return answers(m, c.pid()) })
	for _, path := range append(files, link) {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
