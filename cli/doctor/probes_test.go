package doctor

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"vramscope/cli/sources"
	"vramscope/internal/process"
	"vramscope/probe"
)

// TestSocketsOfExitedProcessesAreNoProblem: one of a process that runs is.
func TestSocketsOfExitedProcessesAreNoProblem(t *testing.T) {
	table := process.NewTable("/proc")
	const absent = 1 << 30 // above any pid_max
	refused := fmt.Errorf("connect: %w", syscall.ECONNREFUSED)
	box := Box{Set: &sources.Set{Table: table}, Problems: []probe.Problem{
		{PID: absent, Path: "/tmp/x/1.sock", Err: refused}, {PID: os.Getpid(), Path: "/tmp/x/2.sock", Err: refused}, {PID: absent, Err: errors.New("another")},
	}}
	problems, found := box.leftOver()
	if len(problems) != 2 || len(found) != 1 || found[0].text != "1 socket of exited processes in /tmp/x: harmless" {
		t.Errorf("%+v, %+v", problems, found)
	}
}
