//go:build linux

package probe

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vramscope/internal/needs"
	"vramscope/internal/process"
)

// nobody is a user that is not us.
const nobody = 65534

// unshare is how a process is started in a pid namespace of its own.
func unshare() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
	return attr
}

// permitted skips the test where the kernel permits no namespaces.
func permitted(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL) {
		t.Skipf("this machine does not permit namespaces: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAProbeInAnotherPIDNamespaceIsFoundByItsSocket(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vramscope")
	c, err := trySpawn(t, "serve", dir, unshare())
	permitted(t, err)
	if !strings.HasPrefix(filepath.Base(c.socket), "1-") {
		t.Fatalf("in its own namespace it is not PID 1: %s", c.socket)
	}
	m := watch(t, dir)
	eventually(t, "it is heard under the pid that we know it by", func() bool { return heard(m, c.pid()) })
	a := answerOf(m, c.pid())
	if a.Hello.PID != 1 {
		t.Errorf("it calls itself %d", a.Hello.PID)
	}
	own, err := process.NewTable("/proc").Identify(os.Getpid())
	if err != nil || a.Process.Namespace == 0 || a.Process.Namespace == own.Namespace {
		t.Errorf("its identity is %+v, ours %+v, %v", a.Process, own, err)
	}
	if _, err := m.Flush(soon(t), a.Process, FlushRequest{Level: Urgent}); err != nil {
		t.Error(err)
	}
}

func TestAMonitorInAContainerRefusesAProbeOutsideOfIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vramscope")
	spawn(t, "serve", dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"=look", "VRAMSCOPE_TEST_DIRECTORY="+dir)
	cmd.SysProcAttr = unshare()
	out, err := cmd.CombinedOutput()
	permitted(t, err)
	if !bytes.Contains(out, []byte("outside this container's pid namespace")) {
		t.Errorf("it says %s", out)
	}
}

// contained starts a probe in a mount, pid and network namespace whose /tmp
// nobody else sees: a container as far as vramscope is concerned.
func contained(t *testing.T) *child {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting over /tmp in a new namespace is tried as root only")
	}
	for _, tool := range []string{"unshare", "sh", "mount"} {
		needs.Tool(t, tool)
	}
	if out, err := exec.Command("unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt").CombinedOutput(); err != nil {
		t.Skipf("this machine does not permit mounting: %s", out)
	}
	// The test binary is below /tmp, which the mount hides: it is opened before.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := trySpawn(t, "serve", "/tmp/vramscope-0", nil,
		"unshare", "-mnpf", "sh", "-c", `exec 9<"$0" && mount -t tmpfs none /tmp && exec /proc/self/fd/9`, self)
	if err != nil {
		t.Skipf("no container: %v", err)
	}
	return c
}

func TestAProbeInAContainerIsFoundByTheDriversPID(t *testing.T) {
	c := contained(t)
	pid := innermost(t, c.pid())
	if _, err := os.Lstat(c.socket); err == nil {
		t.Fatalf("its socket %s is visible here", c.socket)
	}
	m := watch(t, filepath.Join(t.TempDir(), "vramscope"))
	m.Settle(soon(t))
	if answers := m.Answers(); len(answers) != 0 {
		t.Fatalf("it is found without the driver: %+v", answers)
	}
	m.Listed("GPU-1", []int{pid})
	m.Settle(soon(t))
	a := answerOf(m, pid)
	if a == nil || a.Err != nil || a.Hello.PID == pid || len(a.Report.Devices) != 1 {
		t.Fatalf("listed, it is %+v; %+v", a, m.Problems())
	}
	if _, err := m.Flush(soon(t), a.Process, FlushRequest{Level: Urgent}); err != nil {
		t.Error(err)
	}
}

// innermost is the child of unshare -f that is the probe.
func innermost(t *testing.T, pid int) int {
	t.Helper()
	children, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range children {
		status, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if bytes.Contains(status, []byte("\nPPid:\t"+itoa(pid)+"\n")) {
			found, err := ownPID(path)
			if err == nil {
				return found
			}
		}
	}
	t.Fatalf("PID %d has no child", pid)
	return 0
}

func TestAnotherUserIsRefusedBothWays(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be two users")
	}
	// Both need to get to the socket, and to the test binary.
	base, err := os.MkdirTemp("/tmp", "vramscope-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	if err := os.Chmod(base, os.ModeSticky|0o777); err != nil {
		t.Fatal(err)
	}
	self := readableCopy(t, base)
	theirs, err := launch(t, commandAs(self, "serve", filepath.Join(base, "theirs")))
	if err != nil {
		t.Skipf("no process of another user: %v", err)
	}

	t.Run("root's monitor reads another user's probe with that user's rights", func(t *testing.T) {
		client, err := patientFinder().openIn(theirs.pid(), filepath.Dir(theirs.socket), filepath.Base(theirs.socket), owner{uid: nobody})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		if _, err := client.Stats(soon(t)); err != nil {
			t.Error(err)
		}
	})
	t.Run("a user's monitor refuses another user's process", func(t *testing.T) {
		mine := NewFinder(process.NewTable("/proc"))
		mine.uid = nobody - 1
		var refused *process.Refusal
		if _, err := mine.Open(theirs.pid()); !errors.As(err, &refused) || !strings.Contains(err.Error(), "belongs to user 65534") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a user's monitor refuses another user's directory", func(t *testing.T) {
		if _, err := openDirectory("/", filepath.Dir(theirs.socket), nobody-1); err == nil || !strings.Contains(err.Error(), "belongs to user 65534") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a server refuses another user's monitor", func(t *testing.T) {
		server := start(t, newPool())
		// The way in is opened for the test: normally a stranger does not even
		// get to the socket.
		for path := server.Path(); path != "/tmp" && path != "/"; path = filepath.Dir(path) {
			if err := os.Chmod(path, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		cmd := commandAs(self, "connect", server.Path())
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte(`"code":"forbidden"`)) || !bytes.Contains(out, []byte("you are user 65534")) {
			t.Errorf("it was told %s, %v", out, err)
		}
		if err := os.Chmod(filepath.Dir(server.Path()), 0o700); err != nil {
			t.Fatal(err)
		}
		out, err = commandAs(self, "connect", server.Path()).CombinedOutput()
		if err == nil || !bytes.Contains(out, []byte("permission denied")) {
			t.Errorf("the directory lets strangers in: %s, %v", out, err)
		}
	})
}

func TestRootConnectsAsTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be two users")
	}
	path := filepath.Join(t.TempDir(), "vramscope")
	for parent := filepath.Dir(path); parent != "/tmp" && parent != "/"; parent = filepath.Dir(parent) {
		if err := os.Chmod(parent, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(path, 0o700), os.Chown(path, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	dir, err := openDirectory("/", path, nobody)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.close()
	listener, err := dir.listen("1-1.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if err := os.Chown(filepath.Join(path, "1-1.sock"), nobody, nobody); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		conn, err := dir.connect("1-1.sock")
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := listener.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		if pid, uid, err := peerOf(accepted); err != nil || uid != nobody || pid != os.Getpid() {
			t.Errorf("the server sees PID %d of user %d, %v", pid, uid, err)
		}
		_ = conn.Close()
		_ = accepted.Close()
	}
	if os.Geteuid() != 0 {
		t.Error("we are not root any more")
	}
	eventually(t, "all threads are root's again", func() bool { return threadsAre(t, "0\t0\t0\t0") })
}

func TestRootsMonitorFindsEverybodysProbes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may look into everybody's directories")
	}
	t.Setenv("XDG_RUNTIME_DIR", "")
	base, err := os.MkdirTemp("/tmp", "vramscope-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	theirs, err := launch(t, commandAs(readableCopy(t, base), "serve", ""))
	if err != nil {
		t.Skipf("no process of another user: %v", err)
	}
	for name, own := range map[string]string{
		"beside its own": filepath.Join(base, "vramscope"),
		"in what su has left as root's own runtime directory": filepath.Dir(theirs.socket),
	} {
		t.Run(name, func(t *testing.T) {
			m := newMonitor(own)
			m.everyone, m.every = true, time.Minute // one look must do
			run(t, m)
			if m.Settle(soon(t)); !heard(m, theirs.pid()) {
				t.Error("it is not heard")
			}
		})
	}
}

func TestADirectoryNamedForSomebodyElseIsNotCounted(t *testing.T) {
	const stranger = 3999999999
	path := "/tmp/vramscope-" + strconv.Itoa(stranger)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(path) })
	m := NewMonitor(NewFinder(process.NewTable("/proc")), MonitorOptions{Directories: []string{t.TempDir()}})
	m.findOthers()
	if uid, counted := m.others[path]; counted {
		t.Errorf("%s is taken for user %d's", path, uid)
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

func TestADirectoryThatIsNotOursIsRefused(t *testing.T) {
	base := t.TempDir()
	self := uint32(os.Geteuid())
	t.Run("a symbolic link", func(t *testing.T) {
		target := filepath.Join(base, "target")
		if err := os.Mkdir(target, 0o700); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(base, "link")
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		refuses(t, link, self, "symbolic link")
	})
	t.Run("open to others", func(t *testing.T) {
		path := filepath.Join(base, "open")
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
		refuses(t, path, self, "open to others")
	})
	t.Run("a file", func(t *testing.T) {
		path := filepath.Join(base, "file")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		refuses(t, path, self, "not a directory")
	})
	t.Run("in a directory of somebody else", func(t *testing.T) {
		if _, err := makeDirectory(filepath.Join(base, "new"), self+1); err == nil || !strings.Contains(err.Error(), "no place") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the next one is taken", func(t *testing.T) {
		second := filepath.Join(base, "second")
		server, err := Listen(ServerOptions{Directories: []string{filepath.Join(base, "link"), second}})
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(server.Path()) != second {
			t.Errorf("it serves at %s", server.Path())
		}
		if err := server.socket.leave(self, os.Getpid()); err != nil {
			t.Error(err)
		}
	})
}

func refuses(t *testing.T, path string, uid uint32, reason string) {
	t.Helper()
	if _, err := makeDirectory(path, uid); err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("a server: %v", err)
	}
	if _, err := openDirectory("/", path, uid); err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("a monitor: %v", err)
	}
}
