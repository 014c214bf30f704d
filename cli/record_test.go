//go:build linux && cgo

package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"vramscope/cli/command"
	"vramscope/memoryviz"
)

// vramscope runs a command on the job.
func (j *pythonJob) vramscope(name string, args ...string) (string, int) {
	cmd := exec.Command(os.Args[0], append([]string{name, strconv.Itoa(j.pid)}, args...)...)
	cmd.Env = j.environ
	out, _ := cmd.CombinedOutput() // its exit code says whether it failed
	return string(out), cmd.ProcessState.ExitCode()
}

// TestRecordedLines: a program allocates in a function, and its probe records that line.
func TestRecordedLines(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	j := startJob(t, "XDG_STATE_HOME="+state)
	directory := t.TempDir()
	pickle := filepath.Join(directory, "job.pickle")
	j.await("-o", pickle)
	j.do(`exec("def grow():\n kept.append(torch.empty(5 << 20))")`)
	j.do("wait = v._Steps.wait")
	j.do(`exec("def waiting(self, *a):\n grow(); grow(); return wait(self, *a)")`)
	j.do("v._Steps.wait = waiting")

	said, code := j.vramscope("snapshot", "--record", "--for", "1s", "--yes", "-o", pickle, "--force")
	if code != 0 || !strings.HasPrefix(said, "recorded 1.") || !strings.Contains(said, "grow\n") || !strings.Contains(said, "(no line: allocated before the recording, or after it)\n") {
		t.Errorf("%d: %s", code, said)
	}
	before, err := os.Stat(pickle)
	if err != nil || before.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", before, err)
	}
	log, err := os.ReadFile(filepath.Join(state, "vramscope", "audit.log"))
	if err != nil || strings.Count(string(log), `"action":"record"`) != 2 || !strings.Contains(string(log), `"outcome":"recorded"`) || !strings.Contains(string(log), `"why":"vramscope snapshot --record"`) {
		t.Errorf("the log has %s, %v", log, err)
	}

	said, code = j.vramscope("record", "--for", "1s", "--yes", "--format", "json")
	var doc memoryviz.Document
	if err := json.Unmarshal([]byte(said), &doc); err != nil || code != 0 {
		t.Fatalf("%d: %s", code, said)
	}
	found := map[string]memoryviz.Line{}
	for _, l := range doc.Lines.Lines {
		found[l.At.Function] = l
	}
	if l := found["grow"]; l.Bytes != 20<<20 || l.Blocks != 4 || l.Churn != 10<<20 || l.Allocations != 2 || l.At.Line.Or(0) != 2 || l.At.File != "<string>" {
		t.Errorf("grow has %+v in %s", l, said)
	}
	if doc.Lines.PID != j.pid || doc.Lines.Runtime != "PyTorch" || doc.Lines.Allocated != 104<<20 {
		t.Errorf("%s", said)
	}

	path := filepath.Join(directory, "job.pb.gz")
	if said, code = j.vramscope("snapshot", "--record", "--for", "1s", "--yes", "--format", "pprof", "-o", path); code != 0 {
		t.Fatalf("%d: %s", code, said)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := profile.Parse(bytes.NewReader(content)); err != nil || len(p.SampleType) != 4 {
		t.Errorf("%v, %v", p, err)
	}
	if top, err := exec.Command("go", "tool", "pprof", "-top", "-sample_index=inuse_space", path).CombinedOutput(); err != nil || !strings.Contains(string(top), " grow\n") {
		t.Errorf("go tool pprof -top: %v: %s", err, top)
	}

	after := filepath.Join(directory, "after")
	j.await("-o", after)
	cmd := exec.Command(os.Args[0], "snapshot", "diff", pickle, after)
	cmd.Env = j.environ
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "grew by 20M in all\n") || !regexp.MustCompile(`(?m)^ +20M +\+4 +10M +30M  <string>:2 grow$`).Match(out) {
		t.Errorf("%v: %s", err, out)
	}

	j.do("torch.cuda.memory_summary = lambda device: f'device {device}\\x1b[2J'")
	if said, code = j.vramscope("summary"); code != 0 || !strings.HasSuffix(said, "device 1?[2J\n") {
		t.Errorf("%d: %q", code, said)
	}
	// An older probe ignores what it does not know.
	j.do("request = v._snapshot_request")
	j.do("v._snapshot_request = lambda r: dict(request(r), record=None)")
	if said, code = j.vramscope("snapshot", "--record", "--for", "1s", "--yes"); code != command.ExitRefused || !strings.Contains(said, "is older than this vramscope") {
		t.Errorf("%d: %s", code, said)
	}
}
