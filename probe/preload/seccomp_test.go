//go:build linux

package preload_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/process"
)

// Seccomp filters that kill, named as in testdata/sealed.c.
const (
	// What a thread and a socket need.
	starting = "socket,bind,listen,accept4,connect,getsockopt,recvmsg,sendto,socketpair,clone,clone3,mkdirat,unlinkat,fchmodat,pipe2"
	// Also what the running library calls and the program does not. pread64 and futex are left out:
	// the library's thread needs them even under a filter.
	serving = starting + ",openat,close,poll,getdents64,exit,madvise,munmap,mprotect,gettid,getpid,rt_sigprocmask"
)

// TestSeccompFilters: a program under a filter that kills ends as it would without the library,
// whenever the filter is set.
func TestSeccompFilters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		when, threads, filter string
		monitored             bool
		served                bool // before the filter comes
	}{
		{when: "launched", threads: "all", filter: starting},
		{when: "first", threads: "own", filter: starting},
		{when: "first", threads: "all", filter: starting},
		{when: "idle", threads: "own", filter: serving, served: true},
		{when: "idle", threads: "all", filter: serving, served: true},
		{when: "idle", threads: "own", filter: "only", served: true, monitored: true},
		{when: "idle", threads: "all", filter: serving, served: true, monitored: true},
		{when: "idle", threads: "all", filter: "only", served: true, monitored: true},
		{when: "none", threads: "all", filter: "", served: true, monitored: true},
	} {
		t.Run(fmt.Sprintf("%s,%s,%.8s,%v", c.when, c.threads, c.filter, c.monitored), func(t *testing.T) {
			t.Parallel()
			plain, watched := runSealed(t, c.served, c.monitored, c.when, c.threads, c.filter, "exit")
			if plain != watched {
				t.Errorf("without the library: %s\nwith it: %s", plain, watched)
			}
		})
	}
}

// TestMainThreadExits: the process ends when the program's other threads have ended, although the
// library's thread runs.
func TestMainThreadExits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ when, threads, filter, end string }{
		{"none", "own", "", "raw"},
		{"idle", "own", "strict", "raw"},
		{"idle", "own", "strict", "exit"},
		{"idle", "all", "socket,bind,close", "raw"},
		{"idle", "all", "socket,bind,close", "lone"},
		{"none", "own", "", "lone"},
	} {
		t.Run(c.end+","+c.filter, func(t *testing.T) {
			t.Parallel()
			plain, watched := runSealed(t, true, false, c.when, c.threads, c.filter, c.end)
			if c.end == "lone" {
				// Handlers run on the last thread, which is the library's.
				plain = strings.Replace(plain, "a context", "no context", 1)
			}
			if plain != watched {
				t.Errorf("without the library: %s\nwith it: %s", plain, watched)
			}
		})
	}
}

// runSealed runs testdata/sealed.c without the library and with it, and returns
// their exit status and output.
func runSealed(t *testing.T, served, monitored bool, arguments ...string) (plain, watched string) {
	t.Helper()
	b := newBox(t)
	if arguments[0] != "launched" { // if the variable is not set, the count of process 1 applies
		b.environ = append(b.environ, "VRAMSCOPE_SECCOMP_FILTERS="+ownFilters(t))
	}
	program := build(t, "sealed", []string{"testdata/sealed.c"})
	r := b.start(false, append([]string{program}, arguments...)...)
	plain = r.sealed(t, nil)
	r = b.start(true, append([]string{program}, arguments...)...)
	if !served {
		watched = r.sealed(t, nil)
		if exists(filepath.Join(b.runtime, "vramscope")) {
			t.Error("the library serves")
		}
		return plain, watched
	}
	conn, err := net.Dial("unix", r.socket())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // the process has ended
	if monitored {
		stats(t, conn)
	}
	r.awaitPoll()
	return plain, r.sealed(t, func() {
		switch {
		case arguments[0] == "none" && monitored:
			stats(t, conn)
		case arguments[0] == "none":
		case monitored:
			_, _ = io.WriteString(conn, statsRequest) // wakes the library, which does not answer
			fallthrough
		default:
			r.awaitCall("futex", unix.SYS_FUTEX)
		}
	})
}

const statsRequest = `{"id":1,"cmd":"stats"}` + "\n"

func stats(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, statsRequest); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, `"ok":true`) {
		t.Fatalf("%s: %v", line, err)
	}
}

// sealed lets a program continue to its filter and then to its end.
func (r *run) sealed(t *testing.T, then func()) string {
	t.Helper()
	if _, err := io.WriteString(r.in, "a"); err != nil {
		t.Fatal(err)
	}
	out := r.out
	for r.lines.Scan() {
		out = append(out, r.lines.Text())
		if r.lines.Text() == "sealed" && then != nil {
			then()
		}
		if r.lines.Text() == "sealed" {
			_ = r.in.Close()
		}
	}
	_ = r.cmd.Wait() // its state is returned
	r.exited = true
	if r.cmd.ProcessState.ExitCode() == 77 {
		t.Skip("no filter can be set here")
	}
	return fmt.Sprintf("%v\n%s\n%s", r.cmd.ProcessState, strings.Join(out, "\n"), r.stderr)
}

// awaitPoll waits until the library's thread waits for a monitor. arm64 has no poll(2).
func (r *run) awaitPoll() {
	r.Helper()
	r.awaitCall("poll", map[string]int{"amd64": 7, "arm64": unix.SYS_PPOLL}[runtime.GOARCH])
}

// awaitCall waits until the library's thread is in a system call.
func (r *run) awaitCall(name string, number int) {
	r.Helper()
	await(r, "the library's thread to be in "+name, func() bool {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", r.cmd.Process.Pid))
		return err == nil && slices.ContainsFunc(tasks, func(task string) bool {
			comm, err1 := os.ReadFile(filepath.Join(task, "comm"))
			call, err2 := os.ReadFile(filepath.Join(task, "syscall"))
			return err1 == nil && err2 == nil && string(comm) == "vramscope\n" && strings.HasPrefix(string(call), strconv.Itoa(number)+" ")
		})
	})
}

// ownFilters returns what vramscope run would pass on from here.
func ownFilters(t *testing.T) string {
	t.Helper()
	count, err := process.SeccompFilters("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	return strconv.Itoa(count)
}
