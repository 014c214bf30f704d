//go:build linux && cgo

package startup

import (
	"bufio"
	"fmt"
	"os"
	"os/user"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// TestThreadsShareAHeap: glibc would make a heap for each thread, in an aligned range of 64 MiB.
func TestThreadsShareAHeap(t *testing.T) {
	const threads, size = 8, 64 << 20
	var all, together sync.WaitGroup
	together.Add(threads)
	for range threads {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			together.Done()
			together.Wait()                               // so that each goroutine has a thread of its own
			if _, err := user.LookupId("0"); err != nil { // runs C code, which allocates
				t.Log(err)
			}
		})
	}
	all.Wait()
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = maps.Close() }()
	own := uintptr(unsafe.Pointer(new([4096]byte))) / size // Go's heap is aligned in the same way
	var before, start, end uintptr
	var access string
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x %s", &start, &end, &access); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(access, "---") && before%size == 0 && end-before == size && before/size != own {
			t.Errorf("a heap at %x", before)
		}
		before = start
	}
}
