//go:build linux

package attach

import (
	"strings"
	"testing"
)

func TestInstead(t *testing.T) {
	for line, want := range map[string]string{
		"/opt/conda/bin/python -u -X dev /home/bob/eval.py --suite mmlu": "python eval.py",
		"python3 -W error -m torch.distributed.run --nproc 8":            "python3 -m torch.distributed.run",
		"python3 -c code": "", "python3 -": "", "python3": "",
		"/x/tritonserver --model-repository=/models": "tritonserver",
		"python3 a;rm": "", "": "",
	} {
		if want != "" {
			want = "vramscope run -- " + want
		}
		if got := instead(strings.Fields(line)); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
