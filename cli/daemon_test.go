package cli

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"vramscope/cli/command"
	"vramscope/recording"
)

// runningDaemon runs this test binary as vramscope daemon, with a socket of the test's own in place
// of systemd's.
type runningDaemon struct {
	*testing.T
	cmd     *exec.Cmd
	home    string // runtime, configuration and state
	config  string // the path of the configuration file
	environ []string

	mu      sync.Mutex
	log     bytes.Buffer
	notices []string
}

func startDaemon(t *testing.T, environ []string, args ...string) *runningDaemon {
	t.Helper()
	home, err := os.MkdirTemp("", "vs") // short, because the path of a socket has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	d := &runningDaemon{T: t, home: home, config: filepath.Join(home, "vramscope", "config.toml")}
	if err := os.Mkdir(filepath.Dir(d.config), 0o700); err != nil {
		t.Fatal(err)
	}
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(home, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = systemd.Close() })
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := systemd.Read(buf)
			if err != nil {
				return
			}
			d.mu.Lock()
			d.notices = append(d.notices, string(buf[:n]))
			d.mu.Unlock()
		}
	}()
	d.environ = append(append(os.Environ(), asVramscope+"=1", "XDG_RUNTIME_DIR="+home, "XDG_CONFIG_HOME="+home, "XDG_STATE_HOME="+home,
		"JOURNAL_STREAM="), environ...)
	d.cmd = d.command(append([]string{"daemon"}, args...)...)
	d.cmd.Env = append(d.cmd.Env, "NOTIFY_SOCKET="+filepath.Join(home, "notify"), "WATCHDOG_USEC=200000")
	d.cmd.Stderr = d
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill() // it may have ended
		_ = d.cmd.Wait()         // how it ended is not of interest any more
	})
	return d
}

// command returns a vramscope command with the daemon's directories.
func (d *runningDaemon) command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = d.environ
	return cmd
}

func (d *runningDaemon) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.Write(p)
}

func (d *runningDaemon) logged() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.String()
}

// notified reports whether systemd has received at least times lines that begin with what.
func (d *runningDaemon) notified(what string, times int) bool { return d.count(what) >= times }

// count returns how many lines of the notices begin with what.
func (d *runningDaemon) count(what string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Count("\n"+strings.Join(d.notices, "\n")+"\n", "\n"+what)
}

func (d *runningDaemon) wait(what string, holds func() bool) {
	d.Helper()
	if !eventually(holds) {
		d.Fatalf("waited for: %s; it logged\n%s\nand notified %q", what, d.logged(), d.notices)
	}
}

func (d *runningDaemon) signal(s syscall.Signal) {
	d.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		d.Fatal(err)
	}
}

// end sends SIGTERM and waits until the daemon has ended.
func (d *runningDaemon) end() {
	d.Helper()
	d.signal(syscall.SIGTERM)
	began := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- d.cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			d.Errorf("it ended with %v\n%s", err, d.logged())
		}
		d.Logf("ended after %s", time.Since(began))
	case <-time.After(waitLimit):
		d.Fatalf("it does not end\n%s", d.logged())
	}
}

func (d *runningDaemon) configure(content string) {
	d.Helper()
	if err := os.WriteFile(d.config, []byte(content), 0o600); err != nil {
		d.Fatal(err)
	}
}

func TestDaemonFromStartToEnd(t *testing.T) {
	d := startDaemon(t, nil, "--demo", "--seed", "1")
	d.wait("READY", func() bool { return d.notified("READY=1", 1) })
	d.wait("signs of life", func() bool { return d.notified("WATCHDOG=1", 2) })

	// A second daemon says that the first is running.
	out, err := d.command("daemon", "--demo").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "PID "+strconv.Itoa(d.cmd.Process.Pid)+", since 20") {
		t.Errorf("a second daemon: %v, %s", err, out)
	}

	// A configuration with a mistake is not loaded.
	d.configure("interval = '1s'\n[daemon]\nshare = 'some'\n")
	d.signal(syscall.SIGHUP)
	d.wait("the line of the mistake", func() bool { return strings.Contains(d.logged(), "config.toml:3: daemon.share: ") })
	if d.notified("RELOADING=1", 1) {
		t.Error("it reloads a configuration that is refused")
	}

	// A configuration without a mistake is read.
	d.configure("[daemon]\nshare = 'all'\n")
	d.signal(syscall.SIGHUP)
	d.wait("READY again", func() bool { return d.notified("RELOADING=1", 1) && d.notified("READY=1", 2) })
	socket := filepath.Join(d.home, "vramscope", "daemon.sock")
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("the socket after share = all: %v, %v", info, err)
	}

	d.end()
	if !d.notified("STOPPING=1", 1) {
		t.Errorf("no STOPPING: %q", d.notices)
	}
	if _, err := os.Stat(socket); err == nil {
		t.Error("the socket is still there")
	}
	if log := d.logged(); !strings.Contains(log, "INFO sampling gpus=8") || !strings.Contains(log, "simulated=true") {
		t.Errorf("the log:\n%s", log)
	}
}

func TestDaemonWaitsForADriver(t *testing.T) {
	d := startDaemon(t, []string{"JOURNAL_STREAM=0:0"}, "--nvml-library", "/nonexistent")
	d.wait("READY", func() bool { return d.notified("STATUS=no driver (", 1) && d.notified("READY=1", 1) })
	// The log comes through a pipe, and can be late.
	d.wait("one line about the driver", func() bool { return strings.Count(d.logged(), "the driver cannot be read; it is tried again") == 1 })
	out, _ := d.command("doctor", "--nvml-library", "/nonexistent").CombinedOutput() // doctor fails: there is no driver
	if want := "answers: PID " + strconv.Itoa(d.cmd.Process.Pid); !strings.Contains(string(out), want) {
		t.Errorf("doctor does not say %q:\n%s", want, out)
	}
	d.end()
}

func TestDaemonSaysThatAGPUIsNotThere(t *testing.T) {
	d := startDaemon(t, nil, "--demo", "--gpu", "3,99")
	d.wait("its log", func() bool { return strings.Contains(d.logged(), "there is no GPU 99 here") })
	d.wait("READY", func() bool { return d.notified("READY=1", 1) })
	d.end()
}

// TestDaemonKilledLeavesNothingInTheWay: after a daemon was killed, the next one starts.
func TestDaemonKilledLeavesNothingInTheWay(t *testing.T) {
	d := startDaemon(t, nil, "--demo")
	d.wait("READY", func() bool { return d.notified("READY=1", 1) })
	d.signal(syscall.SIGKILL)
	_ = d.cmd.Wait() // it was killed
	next := d.command("daemon", "--demo")
	next.Env = append(next.Env, "NOTIFY_SOCKET="+filepath.Join(d.home, "notify"))
	next.Stderr = d
	if err := next.Start(); err != nil {
		t.Fatal(err)
	}
	d.cmd = next
	d.wait("READY of the next", func() bool { return d.notified("READY=1", 2) })
	d.end()
}

func TestDaemonRefusesBadFlags(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--keep 5m", "--keep: "},
		{"--max-size lots", "--max-size: "},
		{"--commands all", `--commands: "all" is neither name nor full`},
		{"--serve 9841", `--serve: "9841" is no address with a port`},
		{"--serve :9841", "add --serve-openly"},
		{"--process-labels user", "--process-labels is about what --serve serves: nothing is served"},
		{"--serve-openly --record", "--serve-openly is about what --serve serves"},
		{"--serve 127.0.0.1:9841 --web.config.file /proc/none", "--serve: /proc/none: no such file"},
		{"--process-labels uid", `--process-labels: there is no label "uid"`},
		{"--processes many", "--processes: many is out of range: a whole number of processes, 0 to 1024"},
	} {
		cmd := exec.Command(os.Args[0], append([]string{"daemon", "--demo"}, strings.Fields(c.args)...)...)
		cmd.Env = append(os.Environ(), asVramscope+"=1", "XDG_CONFIG_HOME="+t.TempDir(), "XDG_RUNTIME_DIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != command.ExitUsage || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, %s", c.args, err, out)
		}
	}
}

// TestDaemonRecords: the last samples are on disk after SIGTERM, marked as simulated, and recording
// continues after a reload.
func TestDaemonRecords(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, nil, "--demo", "--record", "--interval", "100ms")
	folder := filepath.Join(d.home, "recordings")
	d.wait("READY", func() bool { return d.notified("READY=1", 1) })
	d.signal(syscall.SIGHUP)
	d.wait("READY again", func() bool { return d.notified("READY=1", 2) })
	before, signs := time.Now(), d.count("WATCHDOG=1")
	// The signs of life come every 100 ms, while the newest sample is younger than 300 ms.
	d.wait("a sample since", func() bool { return d.notified("WATCHDOG=1", signs+5) })
	d.end()
	r, err := recording.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if oldest, newest := r.Span(); newest.Before(before) || !oldest.Before(before) {
		t.Errorf("on disk are %s to %s; the daemon sampled before and after %s", oldest, newest, before)
	}
	_, newest := r.Span()
	if snap, ok := r.At(newest); !ok || !snap.Simulated || len(snap.GPUs) != 8 {
		t.Errorf("the newest moment: %t, %+v", ok, snap)
	}
}
