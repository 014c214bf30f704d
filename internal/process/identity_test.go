package process

import (
	"math"
	"os"
	"reflect"
	"testing"
)

// TestHiddenProcess: a process that hidepid hides is another user's, not another container's.
func TestHiddenProcess(t *testing.T) {
	tree := newTree(t)
	tree.add(500, "python3", 1000)
	table := tree.table()
	table.namespace, table.isHidden = 4026531836, func(pid int) bool { return pid == 700 }
	got := infos(table, at(0), []int{500, 600, 700})
	if len(got) != 2 || got[500].Identity.Hidden() {
		t.Fatalf("found %+v, want 500 and the hidden 700", got)
	}
	want := Info{Identity: Identity{PID: 700, Namespace: 4026531836}}
	if !reflect.DeepEqual(got[700], want) || !want.Identity.Hidden() {
		t.Errorf("hidden: %+v, want %+v", got[700], want)
	}
	if _, err := table.Look(700); err == nil {
		t.Error("Look reads a hidden process")
	}
	for id, whose := range map[Identity]string{
		want.Identity: "another user's process, hidden (hidepid)",
		{PID: 600}:    "another container's process",
	} {
		if got := id.Whose(); got != whose {
			t.Errorf("%+v is %q, want %q", id, got, whose)
		}
	}
}

func TestIsHidden(t *testing.T) {
	for pid, want := range map[int]bool{os.Getpid(): true, 1: true, math.MaxInt32: false, 0: false, -1: false, math.MaxUint32: false, 1<<32 + 1: false} {
		if got := isHidden(pid); got != want {
			t.Errorf("isHidden(%d) = %v, want %v", pid, got, want)
		}
	}
}
