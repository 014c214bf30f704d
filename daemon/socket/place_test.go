package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestOnlyRootsOrOnesOwnDaemonIsTrusted: nothing is sent to another user's socket.
func TestOnlyRootsOrOnesOwnDaemonIsTrusted(t *testing.T) {
	directory, _ := serve(t, newBox(), mustShare(t, "all"))
	if got := as(t, alice, alice, directory, "", "VRAMSCOPE_TEST_DIAL=0"); got != "numbers\n" {
		t.Errorf("root's daemon: %q", got)
	}
	// The client expects alice's directory, but it is root's.
	if got := as(t, alice, alice, directory, "", "VRAMSCOPE_TEST_DIAL="+strconv.Itoa(alice)); !strings.Contains(got, "belongs to user 0") {
		t.Errorf("a directory of root's taken for her own: %q", got)
	}
	give := func(uid int) error {
		return errors.Join(os.Lchown(filepath.Join(directory, Name), uid, uid), os.Lchown(filepath.Join(directory, OwnName), uid, uid))
	}
	for name, spoil := range map[string]func() error{
		"belongs to user":        func() error { return os.Lchown(directory, bob, bob) },
		"can be written by":      func() error { return os.Chmod(directory, 0o777) },
		"is not a socket of":     func() error { return give(bob) },
		"is a symbolic link, or": nil,
	} {
		place := Place{directory, 0}
		if spoil == nil {
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(directory, link); err != nil {
				t.Fatal(err)
			}
			place.Directory = link
		} else if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, err := Dial(t.Context(), []Place{place}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if err := errors.Join(os.Lchown(directory, 0, 0), os.Chmod(directory, 0o755), give(0)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSquattersSocketIsRefused: the listener must be the socket's owner.
func TestSquattersSocketIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be several users")
	}
	directory, err := os.MkdirTemp("", "vs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	for _, name := range []string{Name, OwnName} {
		listener, err := net.Listen("unix", filepath.Join(directory, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Lchown(directory, bob, bob), os.Lchown(filepath.Join(directory, name), bob, bob)); err != nil {
			t.Fatal(err)
		}
		if _, err := Dial(t.Context(), []Place{{directory, bob}}); err == nil || !strings.Contains(err.Error(), name+" is served by user 0") {
			t.Errorf("%s: %v", name, err)
		}
		_ = listener.Close()
	}
}

// flooded returns the directory of a socket that has too many connections, and the socket.
func flooded(t *testing.T) (directory string, fd int) {
	t.Helper()
	directory = t.TempDir()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(directory, Name)}), unix.Listen(fd, 0))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	for err == nil { // until the queue of connections that wait to be accepted is full
		var conn *net.UnixConn
		if conn, err = dialSocket(filepath.Join(directory, Name), uint32(os.Geteuid())); err == nil {
			t.Cleanup(func() { _ = conn.Close() })
		}
	}
	return directory, fd
}

// TestClientWaitsDuringAFlood: a client waits until the socket accepts it, or its caller gives up.
func TestClientWaitsDuringAFlood(t *testing.T) {
	directory, fd := flooded(t)
	owner := uint32(os.Geteuid())
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	if _, err := dial(gone, directory, owner); !errors.Is(err, syscall.EAGAIN) || time.Since(began) >= connectTime {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	accepted := make(chan int)
	go func() {
		time.Sleep(10 * time.Millisecond)
		one, _, _ := unix.Accept(fd) // dial reports errors
		accepted <- one
	}()
	if conn, err := dial(t.Context(), directory, owner); err != nil {
		t.Error(err)
	} else {
		_ = conn.Close()
	}
	_ = unix.Close(<-accepted)
}

// TestOwnDaemonIsAskedOnTheOwnersSocket: no flood by other users reaches that socket.
func TestOwnDaemonIsAskedOnTheOwnersSocket(t *testing.T) {
	directory, err := os.MkdirTemp("", "vs")
	if err == nil {
		err = os.Chmod(directory, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	runtime := filepath.Join(directory, "run")
	inside := filepath.Join(runtime, "vramscope")
	if err := errors.Join(os.MkdirAll(inside, 0o700), os.Lchown(runtime, alice, alice), os.Lchown(inside, alice, alice)); err != nil {
		t.Skip("only root can be several users")
	}
	if got, want := as(t, alice, alice, directory, "", "VRAMSCOPE_TEST_OWN=1", "XDG_RUNTIME_DIR="+runtime), filepath.Join(inside, OwnName)+"\n"; got != want {
		t.Errorf("alice asks at %q, want %q", got, want)
	}
	if places := Places(func(string) string { return runtime }); len(places) != 1 || places[0] != (Place{RootDirectory, 0}) {
		t.Errorf("root asks at %v", places)
	}
}

// TestDirectory: a user's runtime directory is used only if it is a directory and belongs to the
// user.
func TestDirectory(t *testing.T) {
	uid := os.Geteuid() + 4321 // has no directory in /run/user
	own := t.TempDir()
	file, link := filepath.Join(own, "file"), filepath.Join(own, "link")
	theirs := filepath.Join(own, "theirs")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(theirs, link), os.Mkdir(theirs, 0o700)); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := errors.Join(os.Lchown(file, uid, uid), os.Lchown(link, uid, uid), os.Chown(theirs, uid, uid)); err != nil {
			t.Fatal(err)
		}
		if got := Directory(uid, theirs); got != filepath.Join(theirs, "vramscope") {
			t.Errorf("the user's: %s", got)
		}
	}
	if got := Directory(0, own); got != RootDirectory {
		t.Errorf("root's: %s", got)
	}
	t.Chdir(own)
	for name, runtime := range map[string]string{
		"none": "", "another's": own, "a file": file, "a link": link, "missing": filepath.Join(own, "missing"), "relative": "theirs",
	} {
		if got, want := Directory(uid, runtime), "/tmp/vramscope-"+strconv.Itoa(uid); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestPathOfASocketHasALimit: the kernel limits its length.
func TestPathOfASocketHasALimit(t *testing.T) {
	base := t.TempDir()
	for length, fits := range map[int]bool{maxPath: true, maxPath + 1: false} {
		directory := filepath.Join(base, strings.Repeat("x", length-len(base)-len("//"+Name)))
		if err := os.Mkdir(directory, 0o755); err != nil {
			t.Fatal(err)
		}
		b, err := listen(directory, mustShare(t, "none"))
		if (err == nil) != fits || err != nil && !strings.Contains(err.Error(), "too long") {
			t.Errorf("a path of %d bytes: %v", length, err)
		}
		if err == nil {
			b.close()
		}
	}
}

// TestAbsent: a daemon that does not run, or does not serve this user, is not a failure.
func TestAbsent(t *testing.T) {
	for errno, want := range map[syscall.Errno]bool{
		syscall.ENOENT: true, syscall.ECONNREFUSED: true, syscall.EACCES: true, syscall.EAGAIN: false, syscall.EIO: false,
	} {
		if got := Absent(fmt.Errorf("connect: %w", errno)); got != want {
			t.Errorf("%v: %t", errno, got)
		}
	}
}
