package doctor

import (
	"strings"
	"testing"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

func TestHoldersAreNamed(t *testing.T) {
	holder := func(pid int, name, user string) snapshot.Holder {
		return snapshot.Holder{Process: process.Identity{PID: pid}, Name: name, User: user}
	}
	b := Box{Snapshot: &snapshot.Snapshot{
		GPUs: []snapshot.GPU{
			{Index: 0, Name: "H100", Unattributed: quantity.From(3*quantity.GiB, quantity.Computed), Holders: []snapshot.Holder{
				holder(41, "train\x1b[2J", "alice"), holder(42, "", ""), holder(43, "c", "bob"), holder(44, "d", "bob"), holder(45, "e", "bob")}},
			{Index: 1, Name: "H100", Unattributed: quantity.From(3*quantity.GiB, quantity.Computed)},
		},
		Holders: []snapshot.Holder{holder(7, "nvidia-persiste", "root")},
	}}
	var lines []string
	for _, f := range b.gpus() {
		lines = append(lines, f.what+": "+f.text)
	}
	all := strings.Join(lines, "\n")
	for _, want := range []string{
		"GPU 0: 3.00G is used by processes that the driver does not list; its device is open in 41 train?[2J (alice), 42 ? (?), 43 c (bob), 2 more\n",
		"holders: they have files of the driver open, and are on no GPU's list: 7 nvidia-persiste (root)\n",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
	if n := strings.Count(all, "GPU 1: "); n != 1 {
		t.Errorf("GPU 1 has %d lines", n)
	}
}
