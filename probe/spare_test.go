//go:build linux

package probe

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/probe/conformance"
)

// TestSquattedDirectoryDeniesNoProbe: another user has made /tmp/vramscope-<uid>.
func TestSquattedDirectoryDeniesNoProbe(t *testing.T) {
	user, prefix := conformance.Squatted(t)
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
			_ = in.Close() // ends it
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

// TestMonitorFindsItsUsersSpareDirectory without the driver's word, and no directory
// that another user has made under such a name.
func TestMonitorFindsItsUsersSpareDirectory(t *testing.T) {
	uid := uint32(os.Geteuid())
	spare, err := spareDirectory(temporary, uid)
	if err != nil {
		t.Fatal(err)
	}
	spare.close()
	t.Cleanup(func() { _ = os.Remove(spare.path) }) // if no probe serves there
	for _, everyone := range []bool{false, true} {
		m := NewMonitor(NewFinder(process.NewTable("/proc")), MonitorOptions{})
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

// TestMonitorSeesAProbeInASpareDirectory: the whole way, by listing alone.
func TestMonitorSeesAProbeInASpareDirectory(t *testing.T) {
	spare, err := spareDirectory(temporary, uint32(os.Geteuid()))
	if err != nil {
		t.Fatal(err)
	}
	spare.close()
	server, err := Listen(ServerOptions{Directories: []string{spare.path}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, newPool()) }()
	m := NewMonitor(NewFinder(process.NewTable("/proc")), MonitorOptions{})
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
