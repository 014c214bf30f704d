package table

import (
	"strings"
	"testing"

	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/uitest"
)

// TestLaunchersRowsStandTogether: processes of one launcher stand together, even if the launcher uses no GPU.
func TestLaunchersRowsStandTogether(t *testing.T) {
	const torchrun, shell = 2962000, 2700001
	s := snapshottest.DrawnBox()
	s.Ended = nil
	parents := map[int]int{2963101: torchrun, 2963102: torchrun, 2955020: torchrun, 1288410: shell, 3011876: 2955020}
	for i := range s.Rows {
		s.Rows[i].Parent = 1
		if parent, ok := parents[s.Rows[i].ID.Process.PID]; ok {
			s.Rows[i].Parent = parent
		}
	}
	list := tableOf(s)
	list.Appearance = uitest.Appearance(t, "", false)
	list.Tree = true
	list.Rows = list.List()
	var got []string
	for _, line := range list.Render(80, 14)[2:10] {
		command := string([]rune(line)[54:])
		got = append(got, strings.TrimSpace(line[4:12])+" "+strings.TrimRight(command, " "))
	}
	want := []string{
		"2963112 finetune.py --cfg sft.yam…",
		"2963101 train.py --cfg llama-7b.y…",
		"2963102 train.py --cfg llama-7b.y…",
		"2955020 t5x/train.py --gin_file=b…",
		"3011876 └─eval.py --suite mmlu --…",
		"2701455 dlrm.py --batch 65536",
		"3000417 ipykernel_launcher -f ker…",
		"184 pid of another container",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the tree is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
