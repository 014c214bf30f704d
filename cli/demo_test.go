package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vramscope/cli/command"
)

// printed returns what a command line writes to a file, on the clock of the test's bubble.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	p := &command.Program{Stdout: out, Stderr: out, Getenv: func(name string) string { return map[string]string{"LC_ALL": "C.UTF-8"}[name] }, Now: time.Now}
	code := run(p, append(args, "--config", "/dev/null"))
	written, err := os.ReadFile(out.Name())
	if err != nil || code != command.ExitOK {
		t.Fatalf("exit code %d, %v:\n%s", code, err, written)
	}
	return string(written)
}

// TestDemoRescue: the same training is killed on one box and rescued on the other, by the figures
// of the guard and of the allocators.
func TestDemoRescue(t *testing.T) {
	var out string
	synctest.Test(t, func(t *testing.T) { out = printed(t, "demo", "rescue") })
	if !strings.HasPrefix(out, "SIMULATED ") {
		t.Errorf("not marked:\n%s", out)
	}
	squeezed := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{
		`notebook\.py 28\.5G, of it 22\.0G cached`,
		`out of memory: asked for 10\.1G, [23]\.\d+G rescued: an allocation of 10\.1G free succeeded after \d+ms; 22\.0G by 4711`,
		`train\.py has ended, notebook\.py 28\.5G train\.py 57\.\dG, notebook\.py 6\.50G`,
	} {
		if !regexp.MustCompile(want).MatchString(squeezed) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	fitsAScreen(t, out)
}

// fitsAScreen checks that the output fits a screen of 80×24, with the prompt below it.
func fitsAScreen(t *testing.T, out string) {
	t.Helper()
	lines := strings.Split(out, "\n")
	if len(lines) > 24 { // the last one is the prompt
		t.Errorf("%d lines: too many for 24", len(lines))
	}
	for _, line := range lines {
		if n := len([]rune(line)); n > 80 || strings.Contains(line, "\x1b") {
			t.Errorf("%d cells: %q", n, line)
		}
	}
}

// TestDemoLease: the server frees its memory and takes it again, by the driver's figures, and only
// the training that takes from the server's lease gets the server's room.
func TestDemoLease(t *testing.T) {
	var out string
	synctest.Test(t, func(t *testing.T) { out = printed(t, "demo", "lease") })
	if !strings.HasPrefix(out, "SIMULATED ") {
		t.Errorf("not marked:\n%s", out)
	}
	panes := regexp.MustCompile(`(?m)^ *\d+s  `).Split(out, -1)
	for i, want := range []string{
		"", `no lease: it needs 40\.0G, most free is .* +GPU 0 with 9\.50G`, `asleep: vLLM 0\.33\.0: 70\.0G to 1\.00G, +lease demo2 holds 69\.0G +freed 69\.0G in 1\.\d s, by the driver`, `vLLM sleeps +lease demo3 holds 40\.0G`,
		`woken: vLLM 0\.33\.0: 1\.00G to 70\.0G, +no lease: it needs 40\.0G, most free is +took 69\.0G in 1\.\d s, by the driver +GPU 0 with 9\.50G`,
	} {
		if pane := strings.ReplaceAll(panes[i], "\n", " "); !regexp.MustCompile(want).MatchString(pane) {
			t.Errorf("no %s in\n%s", want, pane)
		}
	}
	fitsAScreen(t, out)
}

func TestGuardCheckOfTheDemo(t *testing.T) {
	var out string
	synctest.Test(t, func(t *testing.T) { out = printed(t, "guard", "check", "--demo") })
	for _, want := range []string{
		"An example\n", "less than 20% is free", "than programs will need", "SIMULATED",
		`GPU 0  –   alice  train\.py.* protected by the configuration`, `GPU 3  –   carol  finetune\.py.* it needs what it caches again within 10 s`, `GPU 4  1\.  dave`, `GPU 7  –   erin .* JAX keeps its cache`,
		`GPU 3  did nothing: PID 2963112: it needs what it caches again within 10 s; PID 3011876 has no probe`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	policy := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(policy, []byte("[[guard.rule]]\nname = 'mine'\nwhen = {free_below = '90%'}\ngoal = {free = '95%'}\n[[guard.importance]]\nmatch = {user = 'carol'}\nvalue = -7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) { out = printed(t, "guard", "check", "--demo", policy) })
	if !strings.Contains(out, policy) || !regexp.MustCompile(`carol  finetune\.py.* -7 `).MatchString(out) || !strings.Contains(out, "[mine]") {
		t.Errorf("a policy of one's own:\n%s", out)
	}
}

// TestDemoFleet: the boxes are marked as simulated; one is down.
func TestDemoFleet(t *testing.T) {
	var out string
	synctest.Test(t, func(t *testing.T) { out = printed(t, "demo", "fleet", "--boxes") })
	for _, want := range []string{`(?m)^SIMULATED\n12 boxes, 1 down, 58 GPUs: `, `(?m)^h100-07 .*down   simulated: no route to host`, `(?m)^h100-12 `} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}
