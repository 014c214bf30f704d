//go:build linux && cgo

package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"vramscope/cli/command"
	"vramscope/schema"
)

// TestHolds: a program with a module of 30 MiB, its optimizer's state and a hidden tensor, on the
// fake driver.
func TestHolds(t *testing.T) {
	t.Parallel()
	b := newProbeBox(t, 2)
	j := startJob(t, append(b.environ[len(os.Environ()):], "FAKE_TORCH_DRIVER=1")...)
	j.do("v._STEP_WAIT = 0.1; v._HOLD_MOST = 9; import torch.optim as o")
	j.do("m = torch.nn.Module(); m.register_parameter('w', kept.pop(1)); a = o.Optimizer(m._parameters.values())")
	j.do("a.state[m._parameters['w']] = {'exp_avg': kept.pop()}")
	j.do("H = type('H', (), {'__slots__': 'x'}); h = H(); h.x = kept.pop()")
	holds := func(args ...string) (string, int) {
		cmd := exec.Command(os.Args[0], append([]string{"holds", strconv.Itoa(j.pid)}, args...)...)
		cmd.Env = j.environ
		out, _ := cmd.CombinedOutput() // its exit code says whether it failed
		return string(out), cmd.ProcessState.ExitCode()
	}
	var said string
	if !eventually(func() bool { said, _ = holds(); return strings.HasPrefix(said, "GPU 1: 84M allocated\n") }) {
		t.Fatalf("it says %s", said)
	}
	for _, want := range []string{`CLASS +BYTES +SHARE +BLOCKS`, `parameters +30M +36% +1`, `optimizer_state +50M +60% +1`, `variables +1M +1% +1`, `unnamed +3M +4% +1`} {
		if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(said) {
			t.Errorf("%s is not in\n%s", want, said)
		}
	}
	var doc schema.HoldsDocument
	if !eventually(func() bool { said, _ = holds("--format", "json"); return json.Unmarshal([]byte(said), &doc) == nil }) {
		t.Fatalf("it says %s", said)
	}
	d := doc.Holds.Devices[0]
	if used, ok := d.UsedBytes.Value(); !ok || used < d.AllocatedBytes || !doc.Holds.Exact || doc.Holds.Runtime != "PyTorch" || d.GPU.Or(-1) != 1 {
		t.Errorf("the document is %+v", doc)
	}

	// An answer is not used if it has more than the driver reports, or parts that do not add up.
	j.do("honest = v._Memory.holds")
	j.do(`exec("def lie(self, *a):\n answer = honest(self, *a); d = answer['devices'][0]; d['parts'][0]['bytes'] += more; d['allocated_bytes'] += much; return answer")`)
	for _, c := range []struct {
		lies, want string
		code       int
	}{
		{"much = more = 60 << 30", `^vramscope: refused: its probe reports 60\.1G on GPU-\S+, the driver \S+M\n$`, command.ExitRefused},
		{"much, more = 0, 5", `^vramscope: .*: its parts sum to 88080389 of 88080384 bytes\n$`, command.ExitFailure},
	} {
		j.do(c.lies)
		j.do("v._Memory.holds = lie")
		var code int
		if !eventually(func() bool {
			said, code = holds()
			return regexp.MustCompile(c.want).MatchString(said) && code == c.code
		}) {
			t.Errorf("%s: %d, %s", c.lies, code, said)
		}
	}
}
