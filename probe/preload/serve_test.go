//go:build linux

package preload_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestNoDescriptorsLeft: without a free descriptor the library cannot accept a monitor. It does not
// spin meanwhile, and accepts once a descriptor is free.
func TestNoDescriptorsLeft(t *testing.T) {
	t.Parallel()
	// With a limit of 3, even poll fails.
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
	for range 14 { // uses more than 18 descriptors
		other, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = other.Close() }) // answered already
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
		t.Skipf("cannot set its limit: %v", err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // one request only
	before := ticks(t, r)
	time.Sleep(6 * time.Second) // longer than CHECK_TIME; a busy machine gives the thread even less
	if used := ticks(t, r) - before; used > 25 {
		t.Errorf("the thread used %d0 ms of CPU in six idle seconds", used)
	}
	if err := unix.Prlimit(r.cmd.Process.Pid, unix.RLIMIT_NOFILE, &room, nil); err != nil {
		t.Skipf("cannot restore its limit: %v", err)
	}
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, `{"id":1,"cmd":"bye"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || string(answer) != `{"id":1,"ok":true}`+"\n" {
		t.Errorf("the waiting monitor got %q: %v", answer, err)
	}
	r.end()
}

// ticks returns the CPU time of the library's thread in hundredths of a second.
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
	t.Fatal("no thread is named vramscope")
	return 0
}

// TestAnotherUserIsRefused: the server itself refuses another user but root, in case the mode of the
// directory lets that user in.
func TestAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	r := newBox(t).start(true, program(t, "dlsym"), "dlsym", "linear")
	path := r.socket()
	for name, mode := range map[string]os.FileMode{r.runtime: 0o711, filepath.Dir(path): 0o711, path: 0o666} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		uid  int
		want string
	}{{65534, `"forbidden"`}, {0, `"ok":true`}} {
		if answer, err := askAs(c.uid, path); err != nil || !strings.Contains(answer, c.want) {
			t.Errorf("user %d is answered %q, %v", c.uid, answer, err)
		}
	}
	r.end()
}

// askAs says hello with another user's rights, on a thread that is not used again.
func askAs(uid int, path string) (answer string, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
			err = errno
			return
		}
		var fd int
		if fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return
		}
		defer func() { _ = unix.Close(fd) }()
		if err = unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
			return
		}
		_, _ = unix.Write(fd, []byte(`{"id":1,"cmd":"hello"}`+"\n")) // it may be closed already
		buffer := make([]byte, 4096)
		n, failed := unix.Read(fd, buffer)
		answer, err = string(buffer[:max(n, 0)]), failed
	}()
	<-done
	return answer, err
}

// TestTooManyMonitorsAreRefused: the seventeenth gets the reason, and a connection that ends
// makes room.
func TestTooManyMonitorsAreRefused(t *testing.T) {
	r := newBox(t).start(true, program(t, "dlsym"), "dlsym", "linear")
	path := r.socket()
	hello := func() (net.Conn, string) {
		conn, err := net.Dial("unix", path)
		if err == nil {
			err = conn.SetDeadline(time.Now().Add(timeout))
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })                     // answered already
		_, _ = io.WriteString(conn, `{"id":1,"cmd":"hello"}`+"\n") // fails if it is refused
		answer := make([]byte, 4096)
		n, err := conn.Read(answer)
		if err != nil {
			t.Fatal(err)
		}
		return conn, string(answer[:n])
	}
	var first net.Conn
	for range 16 {
		conn, answer := hello()
		if !strings.HasPrefix(answer, `{"id":1,"ok":true`) {
			t.Fatalf("got %s", answer)
		}
		first = conn
	}
	if _, answer := hello(); !strings.Contains(answer, `"busy"`) {
		t.Errorf("the next is answered %s", answer)
	}
	_ = first.Close()
	await(t, "there is room again", func() bool {
		_, answer := hello()
		return strings.HasPrefix(answer, `{"id":1,"ok":true`)
	})
	r.end()
}

// TestMonitorThatDoesNotReadIsDisconnected: one monitor sends endless requests and reads no answers.
// Another monitor is answered.
func TestMonitorThatDoesNotReadIsDisconnected(t *testing.T) {
	t.Parallel()
	r := newBox(t).start(true, program(t, "dlsym"), "dlsym", "linear")
	conn, err := net.Dial("unix", r.socket())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // nothing more is sent on it
	if err := conn.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		t.Fatal(err)
	}
	for flood := []byte(strings.Repeat(`{"id":1,"cmd":"stats"}`+"\n", 4096)); err == nil; {
		_, err = conn.Write(flood)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("it was not disconnected")
	}
	if report := r.report(); len(report.Devices) == 0 {
		t.Error("another monitor gets no report")
	}
	r.end()
}
