package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/cli/command"
)

// overSSH runs vramscope with an ssh in its path that runs the simulated box's stream;
// the host "dead" refuses.
func overSSH(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	folder := t.TempDir()
	script := `#!/bin/sh
while [ "$1" != -- ]; do shift; done
case $2 in dead) echo "ssh: connect to host dead port 22: Connection refused" >&2; exit 255 ;; esac
[ "$3 $4" = "vramscope stream" ] || exit 99
exec ` + os.Args[0] + ` stream --demo
`
	if err := os.WriteFile(filepath.Join(folder, "ssh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asVramscope+"=1", "PATH="+folder+":"+os.Getenv("PATH"), "LC_ALL=C.UTF-8")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestFleetOverSSH(t *testing.T) {
	out, errs, code := overSSH(t, "fleet", "once", "--ssh", "box1,dead,alice@box2", "--format", "json")
	if code != command.ExitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	conforms(t, "fleet", "fleet once", []byte(out))
	for _, want := range []string{`"boxes_down": 1`, `"box": "box2"`, `"target": "alice@box2"`, "Connection refused", `"simulated": true`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	// Without a terminal, fleet writes a table in place of the screen.
	out, _, code = overSSH(t, "fleet", "--ssh", "box1,dead", "--boxes")
	if code != command.ExitOK || !strings.Contains(out, "SIMULATED\n2 boxes, 1 down, ") || strings.Count(out, "\nbox1 ") != 1 || !strings.Contains(out, "down   connect to host dead") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// TestFleetViews: every view prints, and with a filter on a user the sums are of that user's processes.
func TestFleetViews(t *testing.T) {
	for view, title := range map[string]string{"boxes": "BOX ", "gpus": "BOX ", "users": "USER ", "jobs": "JOB "} {
		out, errs, code := overSSH(t, "fleet", "once", "--ssh", "box1", "--view", view)
		if code != command.ExitOK || !strings.Contains(out, "\n\n"+title) {
			t.Errorf("exit code %d: %s\n%s", code, out, errs)
		}
		out, _, _ = overSSH(t, "fleet", "once", "--ssh", "box1", "--view", view, "--filter", "user=alice", "--format", "json")
		conforms(t, "fleet", "fleet once", []byte(out))
		if !strings.Contains(out, `"view": "`+view+`"`) || !strings.Contains(out, `"own": true`) || strings.Contains(out, `"user": "bob"`) && title == "USER " {
			t.Errorf("%s:\n%s", view, out)
		}
	}
	all, _, _ := overSSH(t, "fleet", "once", "--ssh", "box1")
	alices, _, _ := overSSH(t, "fleet", "once", "--ssh", "box1", "--filter", "user=alice")
	if !strings.Contains(alices, "used by the processes of the filter") || strings.Contains(all, "processes of the filter") {
		t.Errorf("alice's sums:\n%s", alices)
	}
}

func TestFleetOfOneBox(t *testing.T) {
	if out, errs, code := overSSH(t, "fleet", "once", "--ssh", "box1"); code != command.ExitOK || !strings.Contains(out, "SIMULATED\n1 box, 0 down, 8 GPUs: ") || !strings.Contains(out, " of 637G used") { // as once --line has it
		t.Errorf("exit code %d:\n%s%s", code, out, errs)
	}
}

// TestFleetOnceFailsWhereNoBoxAnswers: fleet once fails, but prints the boxes anyway.
func TestFleetOnceFailsWhereNoBoxAnswers(t *testing.T) {
	for _, args := range [][]string{{"--ssh", "dead"}, {"--ssh", "box1,dead", "--filter", "host=dead"}} {
		out, errs, code := overSSH(t, append([]string{"fleet", "once"}, args...)...)
		if code != command.ExitFailure || !strings.Contains(out, "1 box, 1 down, ") || errs != "vramscope: fleet: no box answers\n" {
			t.Errorf("%v: exit code %d:\n%s%s", args, code, out, errs)
		}
	}
}

func TestFleetOnceSaysThatNothingMatches(t *testing.T) {
	for _, words := range []string{"user=zoe", "state=lost"} {
		if out, errs, code := overSSH(t, "fleet", "once", "--ssh", "box1", "--filter", words); code != command.ExitOK || !strings.HasSuffix(out, "\n\nnothing matches --filter "+words+"\n") {
			t.Errorf("exit code %d:\n%s%s", code, out, errs)
		}
	}
}

func TestFleetHeadroomOverSSH(t *testing.T) {
	for _, c := range []struct {
		need, count, first string
		code               int
	}{
		{"10GiB", "1", "yes: 10.0G on 1 GPU of one box", command.ExitOK}, {"79GiB", "8", "no: 79.0G on 8 GPUs of one box", 3},
	} {
		out, errs, code := overSSH(t, "fleet", "headroom", "--ssh", "box1", "--need", c.need, "--count", c.count)
		if code != c.code || !strings.HasPrefix(out, "SIMULATED\n"+c.first+"\n") {
			t.Errorf("%s: exit code %d:\n%s%s", c.need, code, out, errs)
		}
	}
	for words, want := range map[string]string{"user=zoe": "no GPU matches --filter user=zoe", "host=box9": "no GPU matches --filter host=box9"} {
		if _, errs, code := overSSH(t, "fleet", "headroom", "--ssh", "box1", "--need", "10GiB", "--filter", words); code != command.ExitFailure || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d: %s", words, code, errs)
		}
	}
	out, _, _ := overSSH(t, "fleet", "headroom", "--ssh", "box1", "--need", "10GiB", "--format", "json")
	conforms(t, "fleet_headroom", "fleet headroom", []byte(out))
	if _, errs, code := overSSH(t, "fleet", "headroom", "--ssh", "dead", "--need", "10GiB"); code != command.ExitFailure || errs != "vramscope: ssh: dead: connect to host dead port 22: Connection refused\n" {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestFleetUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"either --prometheus or --ssh": {"fleet", "once"},
		"is no host name":              {"fleet", "once", "--ssh", "-oProxyCommand=x"},
		"is no URL of a Prometheus":    {"fleet", "once", "--prometheus", "localhost:9090"},
		"--http-config goes with":      {"fleet", "once", "--ssh", "a", "--http-config", "x"},
		"--filter:":                    {"fleet", "once", "--ssh", "a", "--filter", "state=odd"},
		"no such file":                 {"fleet", "once", "--prometheus", "http://127.0.0.1:1", "--http-config", "/proc/none/client.yml"},
		"needs --need":                 {"fleet", "headroom", "--ssh", "a"},
		"--demo does not apply":        {"fleet", "once", "--ssh", "a", "--demo"},
		"--gpu does not apply":         {"fleet", "--ssh", "a", "--gpu", "0"},
		"--interval does not apply":    {"fleet", "headroom", "--ssh", "a", "--need", "1GiB", "--interval", "2s"},
		"not both it and --view users": {"fleet", "once", "--ssh", "a", "--boxes", "--view", "users"},
		"--view jobs takes no state=":  {"fleet", "once", "--ssh", "a", "--filter", "state=idle", "--view", "jobs"},
		"unknown flag":                 {"fleet", "headroom", "--ssh", "a", "--need", "1GiB", "--boxes"},
		"takes no state=":              {"fleet", "headroom", "--ssh", "a", "--need", "1GiB", "--filter", "state=idle"},
	} {
		if _, errs, code := overSSH(t, args...); code != command.ExitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
	for _, args := range [][]string{{"fleet", "--help"}, {"help", "fleet", "once"}, {"fleet", "headroom", "--help"}} {
		out, _, _ := overSSH(t, args...)
		for _, flag := range []string{"--demo", "--seed", "--gpu ", "--interval", "--nvml-library"} {
			if strings.Contains(out, flag) {
				t.Errorf("%v has %s, which has no effect", args, flag)
			}
		}
		if !strings.Contains(out, "      --theme NAME ") || !strings.Contains(out, "      --ssh HOST[,HOST]   ") {
			t.Errorf("%v:\n%s", args, out)
		}
	}
	if _, errs, code := overSSH(t, "fleet", "once", "--prometheus", "http://127.0.0.1:1"); code != command.ExitFailure || !strings.Contains(errs, "http://127.0.0.1:1: not reached") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
