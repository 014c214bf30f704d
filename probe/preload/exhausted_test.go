//go:build linux

package preload_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAllDescriptorsTaken: a program that has as many files open as it may
// cannot let a monitor in. Who waits is let in once there is room, and the
// thread that serves does not keep a processor busy until then.
func TestAllDescriptorsTaken(t *testing.T) {
	// With 3, even what is open cannot be waited for.
	for _, limit := range []uint64{3, 18} {
		t.Run(strconv.FormatUint(limit, 10), func(t *testing.T) {
			t.Parallel()
			takeDescriptors(t, limit)
		})
	}
}

func takeDescriptors(t *testing.T, limit uint64) {
	t.Helper()
	r := newBox(t).start(true, program(t, "dlsym"), "dlsym", "linear")
	path := r.socket()
	for range 14 { // more than 18 descriptors are in use then
		other, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = other.Close() }) // it has been answered
		if _, err := io.WriteString(other, `{"id":1,"cmd":"hello"}`+"\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Read(make([]byte, 4096)); err != nil {
			t.Fatal(err)
		}
	}
	var room unix.Rlimit
	if err := unix.Prlimit(r.cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &room); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prlimit(r.cmd.Process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: room.Max}, nil); err != nil {
		t.Skipf("its limit cannot be set: %v", err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // one question is all
	before := ticks(t, r)
	time.Sleep(6 * time.Second) // longer than until it looks whether its socket stands; a machine that is busy gives it even less
	if used := ticks(t, r) - before; used > 25 {
		t.Errorf("the thread has taken %d0 ms of the processor in six seconds in which it had nothing to do", used)
	}
	if err := unix.Prlimit(r.cmd.Process.Pid, unix.RLIMIT_NOFILE, &room, nil); err != nil {
		t.Skipf("its limit cannot be raised again: %v", err)
	}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, `{"id":1,"cmd":"bye"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || string(answer) != `{"id":1,"ok":true}`+"\n" {
		t.Errorf("who has waited is answered %q: %v", answer, err)
	}
	r.end()
}

// ticks is how many hundredths of a second the library's thread has run.
func ticks(t *testing.T, r *run) int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", r.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		_, rest, ours := strings.Cut(string(text), "(vramscope) ")
		if err != nil || !ours {
			continue
		}
		// Fields 14 and 15; the rest begins with field 3.
		fields := strings.Fields(rest)
		user, err1 := strconv.Atoi(fields[11])
		system, err2 := strconv.Atoi(fields[12])
		if err1 != nil || err2 != nil {
			t.Fatalf("%s: %s", task, text)
		}
		return user + system
	}
	t.Fatal("no thread is called vramscope")
	return 0
}
