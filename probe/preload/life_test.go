//go:build linux

package preload_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"testing"
	"time"
)

// TestClosedDescriptors: a program that closes all descriptors closes the library's
// too, and reuses their numbers. The library must not touch those, and continues
// to serve.
func TestClosedDescriptors(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r := b.start(true, program(t, "dlsym"), "dlsym", "close-all")
	// asked returns a connection to the library on which it has answered, or nil.
	asked := func() net.Conn {
		found, err := filepath.Glob(filepath.Join(r.runtime, "vramscope", fmt.Sprintf("%d-*.sock", r.cmd.Process.Pid)))
		if err != nil || len(found) == 0 {
			return nil
		}
		conn, err := net.Dial("unix", found[0])
		if err != nil {
			return nil
		}
		t.Cleanup(func() { _ = conn.Close() }) // it has been read
		answer := make([]byte, 64<<10)
		err = conn.SetDeadline(time.Now().Add(10 * time.Second))
		if err == nil {
			_, err = io.WriteString(conn, "{\"id\":1,\"cmd\":\"stats\"}\n")
		}
		if err == nil {
			_, err = conn.Read(answer)
		}
		if err != nil {
			return nil
		}
		return conn
	}
	await(t, "an answer", func() bool { return asked() != nil })
	// If a descriptor is closed between the check and the use, the library's thread cannot notice.
	// So the test lets the thread reach its wait first.
	r.awaitPoll()
	r.again()
	await(t, "an answer", func() bool { return asked() != nil })
	checkStats(t, r)
	if _, err := io.WriteString(r.in, "b"); err != nil {
		t.Fatal(err)
	}
	r.untilReady()
	if !slices.Contains(r.out, "kept 40") {
		t.Errorf("bytes in the program's pipes were lost: %q", r.out)
	}
	r.end()
}

// TestServingThreadDoesNotKeepProgramAlive: after pthread_exit in its main thread,
// a program ends with its last other thread.
func TestServingThreadDoesNotKeepProgramAlive(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	plain := b.start(false, program(t, "dlsym"), "dlsym", "leave-main")
	before, _ := plain.wait()
	r := b.start(true, program(t, "dlsym"), "dlsym", "leave-main")
	checkStats(t, r)
	socket := r.socket()
	if code, stderr := r.wait(); code != before || stderr != "" || before != 0 {
		t.Errorf("exit code %d, stderr %q; without the library %d", code, stderr, before)
	}
	if exists(socket) {
		t.Errorf("%s remains", socket)
	}
}

func TestServingThreadHasNameAndBlocksSignals(t *testing.T) {
	r := newBox(t).start(true, program(t, "dlsym"), "dlsym", "linear")
	r.socket()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", r.cmd.Process.Pid))
	if err != nil || len(tasks) != 2 {
		t.Fatalf("threads %q: %v", tasks, err)
	}
	found := false
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "Name:\tvramscope\n") {
			continue
		}
		found = true
		_, mask, _ := strings.Cut(string(text), "SigBlk:\t")
		mask, _, _ = strings.Cut(mask, "\n")
		blocked, err := strconv.ParseUint(mask, 16, 64)
		// All but KILL, STOP, and the two that libc reserves.
		if all := ^uint64(1<<8 | 1<<18 | 1<<31 | 1<<32); err != nil || blocked&all != all {
			t.Errorf("it blocks %x: %v", blocked, err)
		}
	}
	if !found {
		t.Error("no thread is named vramscope")
	}
	r.end()
}

// TestLargeThreadLocalVariables: glibc places them on every thread's stack, including the library's
// thread, which needs room for itself as well.
func TestLargeThreadLocalVariables(t *testing.T) {
	for _, kib := range []int{498, 4000} {
		t.Run(fmt.Sprintf("%d KiB", kib), func(t *testing.T) {
			program := build(t, fmt.Sprintf("large-tls-%d", kib), append(slices.Clone(programSources), "testdata/large_tls.c"),
				fmt.Sprintf("-DLARGE_TLS=%d", kib))
			compare(t, program, "dlsym", "linear", nil)
		})
	}
}
