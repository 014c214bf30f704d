//go:build linux

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

// crowd starts so many probe processes.
func crowd(t testing.TB, directory string, n int) []*child {
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

// disperse kills them: a hundred goodbyes take longer than the test.
func disperse(children []*child) {
	for _, c := range children {
		if !c.waited {
			c.kill()
		}
	}
}

func TestAHundredProbesOnOneBox(t *testing.T) {
	n := 100
	if testing.Short() {
		n = 20
	}
	dir := filepath.Join(t.TempDir(), "vramscope")
	children := crowd(t, dir, n)
	defer disperse(children)
	m := watch(t, dir)
	m.Settle(soon(t))
	eventually(t, "all are heard", func() bool {
		for _, c := range children {
			if !heard(m, c.pid()) {
				return false
			}
		}
		return len(m.Answers()) == n
	})
	for _, c := range children[:n/2] {
		c.kill()
	}
	eventually(t, "half of them have gone, and the others are heard", func() bool {
		for _, c := range children[n/2:] {
			if !heard(m, c.pid()) {
				return false
			}
		}
		return len(m.Answers()) == n-n/2
	})
}

func spent() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkAHundredProbes is the monitor's own processor time for a second of
// a hundred probes at 1 Hz, looking for new ones included.
func BenchmarkAHundredProbes(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "vramscope")
	defer disperse(crowd(b, dir, 100))
	m := NewMonitor(NewFinder(process.NewTable("/proc")), MonitorOptions{Directories: []string{dir}})
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

// BenchmarkASearch is what a driver's process without a probe costs each time
// that it is looked for.
func BenchmarkASearch(b *testing.B) {
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
