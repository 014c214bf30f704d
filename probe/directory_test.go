package probe

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/probe/probetest"
)

func TestUnsafeDirectoryIsRefused(t *testing.T) {
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
	t.Run("in another user's directory", func(t *testing.T) {
		if _, err := makeDirectory(filepath.Join(base, "new"), self+1); err == nil || !strings.Contains(err.Error(), "not safe") {
			t.Errorf("got %v", err)
		}
	})
}

// TestPlaceIsTheFirstUsableDirectory: if the runtime directory is a link, the next one is used.
func TestPlaceIsTheFirstUsableDirectory(t *testing.T) {
	runtime, uid := t.TempDir(), os.Geteuid()
	if place, err := Place(uid, runtime, 5, 7); err != nil || place != filepath.Join(runtime, directoryName, "5-7.sock") {
		t.Errorf("%s, %v", place, err)
	}
	link := filepath.Join(runtime, "link")
	if err := errors.Join(os.Mkdir(link, 0o700), os.Symlink(runtime, filepath.Join(link, directoryName))); err != nil {
		t.Fatal(err)
	}
	if place, err := Place(uid, link, 5, 7); err != nil || strings.HasPrefix(place, runtime) {
		t.Errorf("%s, %v", place, err)
	}
}

func refuses(t *testing.T, path string, uid uint32, reason string) {
	t.Helper()
	if _, err := makeDirectory(path, uid); err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("a server: %v", err)
	}
	if _, err := openDirectory(path, uid); err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("a monitor: %v", err)
	}
}

// TestLinksDoNotLeadOutOfTheContainer: root's monitor looks below /proc/PID/root, where a
// container's root can make any link.
func TestLinksDoNotLeadOutOfTheContainer(t *testing.T) {
	outside, root := t.TempDir(), t.TempDir()
	if err := errors.Join(
		os.Mkdir(filepath.Join(outside, "vramscope-0"), 0o700),
		os.Symlink(outside, filepath.Join(root, "tmp")),
		os.Symlink("../../../../../.."+outside, filepath.Join(root, "up")),
		os.Symlink("/proc/self/root"+outside, filepath.Join(root, "magic")),
	); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/tmp/vramscope-0", "/up/vramscope-0", "/magic/vramscope-0", "/../../../../../.." + outside + "/vramscope-0"} {
		if dir, err := openRoot(root).directory(path, uint32(os.Geteuid())); err == nil {
			t.Errorf("%s leads to %s", path, dir.path)
			dir.close()
		}
		rootfd, err := os.Open(root)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := openStepwise(int(rootfd.Fd()), path); err == nil {
			t.Errorf("step by step %s leads outside", path)
		}
		_ = rootfd.Close()
	}
	if paths, err := new(listings).spareDirectories(openRoot(root), "vramscope-", uint32(os.Geteuid())); err == nil && len(paths) > 0 {
		t.Errorf("spare directories outside: %v", paths)
	}
}

// TestSquattedDirectoryDeniesNoProbe: /tmp/vramscope-<uid> exists, and the probe refuses it.
func TestSquattedDirectoryDeniesNoProbe(t *testing.T) {
	user, prefix := probetest.Squatted(t)
	serve := func() (pid int, path string) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childVariable+"=serve", "XDG_RUNTIME_DIR=")
		cmd.SysProcAttr = user
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = in.Close() // ends the program
			_ = cmd.Wait()
		})
		line, err := bufio.NewReader(out).ReadString('\n')
		path, ready := strings.CutPrefix(strings.TrimSpace(line), "ready ")
		if err != nil || !ready || !strings.HasPrefix(path, prefix) {
			t.Fatalf("it serves at %q, not in %s*: %v", line, prefix, err)
		}
		return cmd.Process.Pid, path
	}
	pid, path := serve()
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its directory: %v, %v", info, err)
	}
	if _, second := serve(); filepath.Dir(second) != filepath.Dir(path) {
		t.Errorf("a second process makes a directory of its own: %s and %s", path, second)
	}
	finder := NewFinder(process.NewTable("/proc"))
	client, err := finder.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(client.path, path) {
		t.Errorf("it is found at %s, serves at %s", client.path, path)
	}
	_ = client.Close()
}

// TestMonitorFindsItsUsersSpareDirectory: a monitor finds the directory without the driver's list.
// Another user's monitor does not, unless it looks for everyone's.
func TestMonitorFindsItsUsersSpareDirectory(t *testing.T) {
	uid := uint32(os.Geteuid())
	spare, err := spareDirectory(temporary, uid)
	if err != nil {
		t.Fatal(err)
	}
	spare.close()
	t.Cleanup(func() { _ = os.Remove(spare.path) }) // if no probe serves there
	for _, everyone := range []bool{false, true} {
		m := NewMonitor(NewFinder(process.NewTable("/proc")), nil, nil)
		m.everyone = everyone
		if m.findOthers(); m.others[spare.path] != uid {
			t.Errorf("everyone %v: %s is not among %v", everyone, spare.path, m.others)
		}
		m.finder.uid++ // another user's monitor
		if m.findOthers(); !everyone && len(m.others) > 0 {
			t.Errorf("another user's monitor looks into %v", m.others)
		}
	}
}

// TestMonitorSeesAProbeInASpareDirectory: the monitor can find the probe only by listing directories.
func TestMonitorSeesAProbeInASpareDirectory(t *testing.T) {
	spare, err := spareDirectory(temporary, uint32(os.Geteuid()))
	if err != nil {
		t.Fatal(err)
	}
	spare.close()
	server, err := listen(spare.path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, newPool()) }()
	m := NewMonitor(NewFinder(process.NewTable("/proc")), nil, nil)
	watched := make(chan struct{})
	go func() { m.Run(ctx); close(watched) }()
	found := false
	for ; !found && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		m.Settle(ctx)
		for _, p := range *m.published.Load() {
			found = found || p.process.PID == os.Getpid()
		}
	}
	cancel()
	if err := <-served; err != nil || !found {
		t.Errorf("found: %v, %v", found, err)
	}
	<-watched
	_ = os.Remove(spare.path) // if no other probe serves there
}

func itoa(n int) string { return strconv.Itoa(n) }

// ownPID returns the pid in "/proc/PID/status".
func ownPID(path string) (int, error) { return strconv.Atoi(filepath.Base(filepath.Dir(path))) }

// readableCopy copies the test binary for another user to run.
func readableCopy(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = self.Close() }()
	path := filepath.Join(dir, "probe.test")
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, self); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// commandAs returns the command of a child with a role that runs as otherUser.
func commandAs(self, role, directory string) *exec.Cmd {
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+role, "VRAMSCOPE_TEST_DIRECTORY="+directory)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUser, Gid: otherUser}}
	return cmd
}

func TestRootConnectsAsTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be two users")
	}
	path := filepath.Join(t.TempDir(), "vramscope")
	for parent := filepath.Dir(path); parent != os.TempDir() && parent != "/"; parent = filepath.Dir(parent) {
		if err := os.Chmod(parent, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(path, 0o700), os.Chown(path, otherUser, otherUser)); err != nil {
		t.Fatal(err)
	}
	dir, err := openDirectory(path, otherUser)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.close()
	listener, err := dir.listen("1-1.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if err := os.Chown(filepath.Join(path, "1-1.sock"), otherUser, otherUser); err != nil {
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
		if peer, err := process.Peer(accepted); err != nil || peer.Uid != otherUser || int(peer.Pid) != os.Getpid() {
			t.Errorf("the server sees %+v, %v", peer, err)
		}
		_ = conn.Close()
		_ = accepted.Close()
	}
	if os.Geteuid() != 0 {
		t.Error("the process is no longer root")
	}
	eventually(t, "all threads are root's again", func() bool { return threadsAre(t, "0\t0\t0\t0") })
}

// threadsAre reports whether all threads have these user IDs.
func threadsAre(t *testing.T, ids string) bool {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(files) == 0 {
		t.Fatal("no threads")
	}
	for _, path := range files {
		status, err := os.ReadFile(path)
		if err == nil && !strings.Contains(string(status), "\nUid:\t"+ids+"\n") {
			return false
		}
	}
	return true
}
