package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/action"
	"vramscope/cli/command"
	"vramscope/cli/gather"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
)

// TestGuardLogReadsOnlyTheNamedFile: another recording does not contain what this box's guard did.
func TestGuardLogReadsOnlyTheNamedFile(t *testing.T) {
	state, directory := t.TempDir(), filepath.Join(t.TempDir(), "recordings")
	t.Setenv("XDG_STATE_HOME", state)
	own := filepath.Join(state, "vramscope")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf(`{"time":%q,"action":"guard","outcome":"nothing","by":"policy","why":"room","pid":4711,"command":[],"reason":"of this box"}`+"\n",
		time.Now().Format(time.RFC3339Nano))
	if err := os.WriteFile(filepath.Join(own, action.LogName), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	w := recording.Start(directory, recording.Options{})
	if err := w.Append(&snapshot.Snapshot{Time: time.Now(), Interval: time.Second}, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if log, err := gather.LoggedDecisions(&action.Log{Directory: own}, time.Time{}); err != nil || len(log) != 1 {
		t.Fatalf("the audit log has %v, %v", log, err)
	}
	out, errs, code := ran(t, "guard", "log", "--file", directory)
	if code != command.ExitOK || !strings.Contains(out, "decided nothing") || !strings.Contains(out, directory) {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}
