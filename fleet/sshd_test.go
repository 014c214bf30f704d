package fleet

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"vramscope/internal/needs"
)

// namespace is a network namespace with a link to it, in which sshds run.
type namespace struct {
	t            *testing.T
	name, folder string
	ip           string
	outer        string // the link's end outside the namespace
}

func run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

func newNamespace(t *testing.T) *namespace {
	t.Helper()
	for _, tool := range []string{"ip", "ssh", "ssh-keygen", "/usr/sbin/sshd"} {
		needs.Tool(t, tool)
	}
	pid := os.Getpid()
	n := &namespace{t: t, name: fmt.Sprintf("vsfleet%d", pid), folder: t.TempDir()}
	n.ip = fmt.Sprintf("10.213.%d.", pid%250)
	outer, inner := fmt.Sprintf("vso%d", pid), fmt.Sprintf("vsi%d", pid)
	run(t, "ip", "netns", "add", n.name)
	t.Cleanup(func() {
		// Children of sshds would wait for their peers, because the link is gone.
		_ = exec.Command("sh", "-c", "ip netns pids "+n.name+" | xargs -r kill -KILL").Run()
		_ = exec.Command("ip", "netns", "del", n.name).Run()
	})
	link(t, outer, inner)
	run(t, "ip", "link", "set", inner, "netns", n.name, "name", "eth0")
	run(t, "ip", "addr", "add", n.ip+"1/24", "dev", outer)
	run(t, "ip", "link", "set", outer, "up")
	run(t, "ip", "netns", "exec", n.name, "ip", "addr", "add", n.ip+"2/24", "dev", "eth0")
	run(t, "ip", "netns", "exec", n.name, "ip", "link", "set", "eth0", "up")
	n.outer = outer
	for _, key := range []string{"host", "user"} {
		run(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(n.folder, key))
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		t.Fatal(err)
	}
	return n
}

// cut takes the link down, or up again.
func (n *namespace) cut(cut bool) {
	n.t.Helper()
	word := map[bool]string{true: "down", false: "up"}[cut]
	run(n.t, "ip", "link", "set", n.outer, word)
}

// sshd starts an sshd on a port. The command vramscope there is script.
func (n *namespace) sshd(port int, keys, script string) {
	n.t.Helper()
	path := filepath.Join(n.folder, fmt.Sprint(port))
	if err := os.Mkdir(path, 0o755); err != nil {
		n.t.Fatal(err)
	}
	config := fmt.Sprintf("Port %d\nHostKey %s/host\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPidFile none\nSetEnv PATH=%s:/usr/bin:/bin\n",
		port, n.folder, keys, path)
	for name, text := range map[string]string{"sshd_config": config, "vramscope": "#!/bin/sh\n" + script + "\n"} {
		if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o755); err != nil {
			n.t.Fatal(err)
		}
	}
	cmd := exec.Command("ip", "netns", "exec", n.name, "/usr/sbin/sshd", "-D", "-q", "-f", filepath.Join(path, "sshd_config"))
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// TestRealSSH: real sshds in a network namespace, over a slow link (link_test.go) that fails and recovers.
// Some boxes refuse, deny or do not answer at all, and one has a newer vramscope.
func TestRealSSH(t *testing.T) {
	needs.Full(t)
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	n := newNamespace(t)
	program := needs.Vramscope(t)
	n.sshd(2201, n.folder+"/user.pub", "exec "+program+` "$@" --demo`)
	n.sshd(2202, n.folder+"/user.pub", program+` "$@" --demo | sed -u 's/"schema":/"of_next_year":{"x":1},"schema":/'`)
	n.sshd(2205, n.folder+"/user.pub", "sleep 4; exec "+program+` "$@" --demo --interval 4s`)
	n.sshd(2203, "/dev/null", "exit 1")
	n.sshd(2204, n.folder+"/user.pub", "exit 127")
	config := filepath.Join(n.folder, "ssh_config")
	text := fmt.Sprintf("Host *\n  User root\n  IdentityFile %s/user\n  IdentitiesOnly yes\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n  HostName %s2\n", n.folder, n.ip)
	for host, port := range map[string]int{"good": 2201, "newer": 2202, "denied": 2203, "bare": 2204, "slow": 2205, "refusing": 2999} {
		text = fmt.Sprintf("Host %s\n  Port %d\n", host, port) + text
	}
	text = fmt.Sprintf("Host absent\n  HostName %s99\n", n.ip) + text
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := NewSSH([]string{"good", "slow", "newer", "denied", "bare", "refusing", "absent"}, time.Now)
	s.ssh = append(s.ssh, "-F", config)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	defer func() { cancel(); running.Wait() }()

	state := func() map[string]Line {
		lines := map[string]Line{}
		for _, b := range s.boxes {
			lines[b.host], _ = b.line(time.Now())
		}
		return lines
	}
	wait := func(what string, enough func(map[string]Line) bool) time.Duration {
		t.Helper()
		for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			if enough(state()) {
				return time.Since(began)
			}
			if time.Since(began) > 2*time.Minute {
				for host, l := range state() {
					t.Logf("%s: %s %s", host, l.StateWord(), l.Why)
				}
				t.Fatalf("never: %s", what)
			}
		}
	}
	took := wait("answers", func(l map[string]Line) bool {
		return l["good"].State == OK && l["newer"].State == OK && l["slow"].State == OK && l["denied"].State == Down && l["bare"].State == Down && l["refusing"].State == Down && l["absent"].State == Down
	})
	t.Logf("all have answered or failed after %s", took.Round(time.Millisecond))
	lines := state()
	for name, want := range map[string]string{"denied": "Permission denied", "refusing": "Connection refused", "bare": "vramscope is not installed there"} {
		if !strings.Contains(lines[name].Why, want) {
			t.Errorf("%s: %q", name, lines[name].Why)
		}
	}
	if why := lines["absent"].Why; !strings.Contains(why, "timed out") && !strings.Contains(why, "No route to host") {
		t.Errorf("absent: %q", why)
	}
	began := time.Now()
	pic, err := s.Look(t.Context(), Query{Lines: 100, Fit: 100})
	if err != nil || len(pic.Lines) < 3*8+4 || time.Since(began) > 5*time.Second {
		t.Errorf("%d lines after %s, %v", len(pic.Lines), time.Since(began), err)
	}
	n.cut(true)
	t.Logf("a dead link is said after %s", wait("dead", func(l map[string]Line) bool { return l["good"].State != OK && l["newer"].State != OK }).Round(time.Second))
	n.cut(false)
	t.Logf("it is back after %s", wait("back", func(l map[string]Line) bool { return l["good"].State == OK && l["newer"].State == OK }).Round(time.Second))
}
