//go:build linux

package attach

import (
	"strings"
	"testing"
)

func TestInstead(t *testing.T) {
	for line, want := range map[string]string{
		"/opt/conda/bin/python -u -X dev /home/bob/eval.py --suite mmlu": "/opt/conda/bin/python -u -X dev /home/bob/eval.py --suite mmlu",
		"python3 -W error -m torch.distributed.run --nproc 8":            "python3 -W error -m torch.distributed.run --nproc 8",
		"python3 -c print('a')":                        `python3 -c 'print('\''a'\'')'`,
		"python3 run.py a;rm $HOME":                    "python3 run.py 'a;rm' '$HOME'",
		"python3 run.py \x1b[2J secret":                "python3 run.py …",
		"python3 run.py a " + strings.Repeat("x", 400): "python3 run.py a …",
		"/x/tritonserver --model-repository=/models":   "/x/tritonserver --model-repository=/models",
		"python3 -": "", "python3": "", "python3 -X": "", "python3 -c": "", "gunicorn: master": "", "": "",
	} {
		if want != "" {
			want = "vramscope run -- " + want
		}
		if got := instead(strings.Fields(line)); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	if got := instead([]string{"python3", "my script.py", ""}); got != "vramscope run -- python3 'my script.py' ''" {
		t.Errorf("words that need quotes: %q", got)
	}
}
