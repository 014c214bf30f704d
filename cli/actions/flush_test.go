package actions

import (
	"slices"
	"testing"

	"vramscope/cli/sources"
	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

// TestFlushWithoutAProbeSaysHowToGetOne: the advice has one command a line, in columns.
func TestFlushWithoutAProbeSaysHowToGetOne(t *testing.T) {
	target := &snapshot.Process{ID: snapshot.RowID{Process: process.Identity{PID: 7}}}
	want := []string{
		"  vramscope attach 7 --dry-run   says whether it can get one",
		"  vramscope once                 lists all; FLUSH is what a flush of each would free",
	}
	if got := probeAdvice(target, &sources.Set{}); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
