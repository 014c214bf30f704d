package doctor

import (
	"testing"

	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

// TestVisibility: a process that hidepid hides is not another container's.
func TestVisibility(t *testing.T) {
	own, hidden, foreign := process.Identity{PID: 1, StartTime: 1}, process.Identity{PID: 2, Namespace: 1}, process.Identity{PID: 3}
	for want, identities := range map[string][]process.Identity{
		"no process is on a GPU now":                                        nil,
		"all PIDs are in this /proc":                                        {own},
		"1 of 2 PIDs hidden (hidepid): other users' processes":              {own, hidden},
		"1 of 3 PIDs is outside this /proc: processes of another container": {own, hidden, foreign},
	} {
		box := Box{Snapshot: &snapshot.Snapshot{}}
		for _, id := range identities {
			box.Snapshot.Rows = append(box.Snapshot.Rows, snapshot.Process{ID: snapshot.RowID{Process: id}})
		}
		if got := box.visibility().text; got != want {
			t.Errorf("%+v: %q, want %q", identities, got, want)
		}
	}
}
