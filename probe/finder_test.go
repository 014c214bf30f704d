package probe

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vramscope/internal/needs"
	"vramscope/internal/process"
)

// otherUser is the ID of a user other than the test's.
const otherUser = 65534

// unshare returns the attributes of a process in a new pid namespace.
func unshare() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
	return attr
}

// permitted skips the test if the kernel permits no namespaces.
func permitted(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL) {
		t.Skipf("this machine does not permit namespaces: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestProbeInPIDNamespaceIsFoundBySocket(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vramscope")
	c, err := trySpawn(t, "serve", dir, unshare())
	permitted(t, err)
	if !strings.HasPrefix(filepath.Base(c.socket), "1-") {
		t.Fatalf("it is not PID 1 in its namespace: %s", c.socket)
	}
	m := watch(t, dir)
	eventually(t, "it answers under its pid here", func() bool { return answers(m, c.pid()) })
	a := answerOf(m, c.pid())
	if a.Hello.PID != 1 {
		t.Errorf("it reports PID %d, want 1", a.Hello.PID)
	}
	own, err := process.NewTable("/proc").Identify(os.Getpid())
	if err != nil || a.Process.Namespace == 0 || a.Process.Namespace == own.Namespace {
		t.Errorf("its identity is %+v, ours %+v, %v", a.Process, own, err)
	}
	if _, err := m.Flush(soon(t), a.Process, FlushRequest{Level: Urgent}); err != nil {
		t.Error(err)
	}
}

func TestProbeOutsideContainerIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vramscope")
	spawn(t, "serve", dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"=visit", "VRAMSCOPE_TEST_DIRECTORY="+dir)
	cmd.SysProcAttr = unshare()
	out, err := cmd.CombinedOutput()
	permitted(t, err)
	if !bytes.Contains(out, []byte("outside this container's pid namespace")) {
		t.Errorf("got %s", out)
	}
}

// contained starts a probe in a new mount, pid and network namespace with a
// private /tmp, as in a container.
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
	// The mount hides the test binary, which is below /tmp, so it is opened first.
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

func TestProbeInContainerIsFoundByPID(t *testing.T) {
	c := contained(t)
	pid := innermost(t, c.pid())
	if _, err := os.Lstat(c.socket); err == nil {
		t.Fatalf("its socket %s is visible outside", c.socket)
	}
	m := watch(t, filepath.Join(t.TempDir(), "vramscope"))
	m.Settle(soon(t))
	if answers := m.Answers(); len(answers) != 0 {
		t.Fatalf("found before it was listed: %+v", answers)
	}
	m.Listed("GPU-1", []int{pid})
	m.Settle(soon(t))
	a := answerOf(m, pid)
	if a == nil || a.Err != nil || a.Hello.PID == pid || len(a.Report.Devices) != 1 {
		t.Fatalf("answer %+v, problems %+v", a, m.Problems())
	}
	if _, err := m.Flush(soon(t), a.Process, FlushRequest{Level: Urgent}); err != nil {
		t.Error(err)
	}
}

// innermost returns the pid of the probe, the child of unshare -f.
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

func TestOtherUsersProcessIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be two users")
	}
	// Both users need access to the socket and to the test binary.
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
		client, err := slowFinder().openIn(openRoot(slowFinder().rootOf(theirs.pid())), theirs.pid(), filepath.Dir(theirs.socket), filepath.Base(theirs.socket), owner{uid: otherUser})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		if _, err := client.Stats(soon(t), false); err != nil {
			t.Error(err)
		}
	})
	t.Run("a user's monitor refuses another user's process", func(t *testing.T) {
		mine := NewFinder(process.NewTable("/proc"))
		mine.uid = otherUser - 1
		var refused *process.Refusal
		if _, err := mine.Open(theirs.pid()); !errors.As(err, &refused) || !strings.Contains(err.Error(), "belongs to user 65534") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a user's monitor refuses another user's directory", func(t *testing.T) {
		if _, err := openDirectory(filepath.Dir(theirs.socket), otherUser-1); err == nil || !strings.Contains(err.Error(), "belongs to user 65534") {
			t.Errorf("got %v", err)
		}
	})
}

func TestRootFindsEveryUsersProbes(t *testing.T) {
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
		"besides its own":                    filepath.Join(base, "vramscope"),
		"in root's XDG_RUNTIME_DIR after su": filepath.Dir(theirs.socket),
	} {
		t.Run(name, func(t *testing.T) {
			m := newMonitor(own)
			m.wider, m.everyone, m.scanInterval = true, true, time.Minute // one scan must find it
			run(t, m)
			if m.Settle(soon(t)); !answers(m, theirs.pid()) {
				t.Error("it does not answer")
			}
		})
	}
}

func TestOpenProcessChecksIdentity(t *testing.T) {
	runtime := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	c := spawn(t, "serve", filepath.Join(runtime, "vramscope"))
	table := process.NewTable("/proc")
	finder := NewFinder(table)
	id, err := table.Identify(c.pid())
	if err != nil {
		t.Fatal(err)
	}
	client, err := finder.OpenProcess(id)
	if err != nil || client.process.PID != c.pid() || client.Foreign() {
		t.Fatalf("%+v, %v", client, err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	refusal := new(process.Refusal)
	other := id
	other.StartTime++
	if _, err := finder.OpenProcess(other); !errors.As(err, &refusal) {
		t.Errorf("another process under that pid: %v", err)
	}
	if _, err := finder.OpenProcess(process.Identity{PID: os.Getpid(), StartTime: id.StartTime, Namespace: id.Namespace + 1}); !errors.As(err, &refusal) {
		t.Errorf("in another pid namespace: %v", err)
	}
}
