package actions

import (
	"errors"
	"strings"
	"testing"

	"vramscope/cli/command"
	"vramscope/internal/process"
	"vramscope/probe/attach"
)

func TestAttachFailureListsEveryReason(t *testing.T) {
	plan := &attach.Plan{
		Process: process.Identity{PID: 7, StartTime: 8}, Instead: "vramscope run -- tritonserver",
		Checks: []attach.Check{{OK: false, Text: "not Python: /x\x1b[2J is native code"}, {OK: true, Text: "same container"}, {OK: false, Text: "another user's process (frank); you are bob"}},
	}
	var f *command.Failure
	if err := attachFailure(plan, plan.Refusal()); !errors.As(err, &f) {
		t.Fatalf("it is no failure: %v", err)
	}
	want := []string{
		"  no  not Python: /x?[2J is native code", "  no  another user's process (frank); you are bob",
		"  instead: start it with  vramscope run -- tritonserver",
	}
	if f.Code != command.ExitRefused || f.Message != "refused: PID 7 can get no probe" || strings.Join(f.Next, "\n") != strings.Join(want, "\n") {
		t.Errorf("%d %q %q", f.Code, f.Message, f.Next)
	}
}
