package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/action"
	"vramscope/guard"
)

// TestNoRescueThatCannotBeLogged: a rescue is refused at once, without the log's path, and granted
// again when the log is repaired.
func TestNoRescueThatCannotBeLogged(t *testing.T) {
	b := newBox(guard.Act)
	b.Log = &action.Log{Directory: filepath.Join(t.TempDir(), "file", "below")}
	if err := os.WriteFile(filepath.Dir(b.Log.Directory), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.Prove()
	_, _, err := b.Rescue(context.Background(), guard.Ask{Process: identity(asker), GPUUUID: uuid, Bytes: 15 * gib})
	if refused, ok := errors.AsType[*guard.RescueError](err); !ok || refused.Code != guard.NotActing || refused.Reason != "the guard cannot act: its audit log cannot be written" || len(b.flushed) > 0 {
		t.Errorf("%v, flushed %d", err, b.flushed)
	}
	if state := b.State(); state.Mode != guard.DryRun || !strings.Contains(state.Cannot, "not a directory") {
		t.Errorf("%+v", state)
	}
	if err := os.Remove(filepath.Dir(b.Log.Directory)); err != nil {
		t.Fatal(err)
	}
	b.Prove()
	if _, _, refused := b.rescue(15 * gib); refused != "" || b.State().Cannot != "" {
		t.Errorf("mended: refused %q, %+v", refused, b.State())
	}
}
