package cli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"vramscope/action"
)

const actingGuard = "[guard]\nmode = 'act'\n[[guard.rule]]\nname = 'room'\nwhen = { free_below = '10%' }\ngoal = { free = '15%' }\n"

// status reports whether the last status that systemd got contains some words.
func (d *runningDaemon) status(words string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, notice := range slices.Backward(d.notices) {
		if _, status, is := strings.Cut(notice, "STATUS="); is {
			return strings.Contains(status, words)
		}
	}
	return false
}

// TestGuardThatCannotActSaysSo: the log, the unit's status, doctor and guard check say that a guard lacks
// its audit log, until the log is repaired.
func TestGuardThatCannotActSaysSo(t *testing.T) {
	t.Parallel()
	d := startDaemon(t, nil, "--record", "--nvml-library", "/nonexistent")
	d.wait("READY", func() bool { return d.notified("READY=1", 1) })
	log := filepath.Join(d.home, "vramscope", action.LogName)
	if err := os.Mkdir(log, 0o700); err != nil {
		t.Fatal(err)
	}
	d.configure(actingGuard)
	d.signal(syscall.SIGHUP)
	reason := "the audit log cannot be written: " + log
	d.wait("why it cannot act", func() bool {
		return strings.Contains(d.logged(), "the guard cannot act error=\""+reason) && d.status("; guard cannot act: "+reason)
	})
	says := func(want string, args ...string) {
		t.Helper()
		out, _ := d.command(args...).CombinedOutput() // doctor fails: there is no driver
		if !strings.Contains(string(out), want) {
			t.Errorf("%s does not say %q:\n%s", args, want, out)
		}
	}
	says("the daemon's cannot act: "+reason, "doctor")
	says("The daemon's guard is to act, and cannot: "+reason, "guard", "check")

	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	d.wait("that it can act", func() bool {
		return strings.Contains(d.logged(), "the guard can act again") && d.status("; guard act")
	})
	says("The daemon's guard acts: it flushes", "guard", "check")
	if info, err := os.Stat(log); err != nil || !info.Mode().IsRegular() {
		t.Error(errors.Join(err, errors.New("there is no audit log")))
	}
	d.end()
}

// TestGuardIsOffByItsMode: the configuration turns a guard off while the daemon runs, and
// guard check says so.
func TestGuardIsOffByItsMode(t *testing.T) {
	t.Parallel()
	off := strings.Replace(actingGuard, "'act'", "'off'", 1)
	d := startDaemon(t, nil, "--demo")
	d.wait("READY", func() bool { return d.notified("READY=1", 1) })
	for i, policy := range []string{actingGuard, off} {
		d.configure(policy)
		d.signal(syscall.SIGHUP)
		d.wait("READY again", func() bool { return d.notified("READY=1", i+2) })
		d.wait("its state", func() bool { return d.status("guard act") == (policy == actingGuard) })
	}
	d.end()
	if out, err := d.command("guard", "check").CombinedOutput(); err != nil || !strings.Contains(string(out), "The guard is off.") {
		t.Errorf("%v\n%s", err, out)
	}
}
