package process

import (
	"strings"
	"testing"
)

func TestShortCommand(t *testing.T) {
	for _, tc := range []struct{ command, want string }{
		{"/usr/bin/python3 train.py --cfg llama-7b.yaml", "train.py --cfg llama-7b.yaml"},
		{"python -u -X dev -W ignore /home/alice/train.py --out=/data/runs/7", "train.py --out=7"},
		{"/opt/py/bin/python3.14t t5x/train.py --gin_file=base.gin", "t5x/train.py --gin_file=base.gin"},
		{"python3 -m ipykernel_launcher -f /root/.local/share/jupyter/runtime/kernel-7.json", "ipykernel_launcher -f kernel-7.json"},
		{"python -Wd -m torch.distributed.run --nproc 8 train.py", "torch.distributed.run --nproc 8 train.py"},
		{"/opt/venv/bin/python /opt/venv/bin/vllm serve qwen2.5-32b", "vllm serve qwen2.5-32b"},
		{"python3 -c import_torch", "python3 -c import_torch"},
		{"/usr/bin/python3", "python3"},
		{"python3 -", "python3 -"},
		{"python3 -u", "python3 -u"},
		{"/usr/lib/xorg/Xorg :0 -nolisten tcp", "Xorg :0 -nolisten tcp"},
		{"bash ./run.sh", "run.sh"},
		{"./a.out /", "a.out /"},
		{"prog PATH=/a:/b /a,/b http://x/y --u=http://x/y", "prog PATH=/a:/b /a,/b http://x/y --u=http://x/y"},
		{"VLLM::EngineCore", "VLLM::EngineCore"},
		{"tritonserver --model-repository=/models/", "tritonserver --model-repository=models"},
	} {
		if got := ShortCommand(strings.Split(tc.command, " "), "name"); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.command, got, tc.want)
		}
	}
	if got := ShortCommand(nil, "Xorg"); got != "Xorg" {
		t.Errorf("without a command line: %q", got)
	}
	if got := ShortCommand([]string{"sshd: /usr/sbin/sshd -D [listener]"}, "sshd"); got != "sshd: /usr/sbin/sshd -D [listener]" {
		t.Errorf("a title: %q", got)
	}
}
