//go:build linux

package attach

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestReplaceablePayloadIsRefused(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	inside, link := filepath.Join(open, "inside"), filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.MkdirAll(inside, 0o700), os.Symlink(inside, link)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", link)
	for mode, allowed := range map[os.FileMode]bool{0o777: false, 0o755: true, 0o777 | os.ModeSticky: true} {
		if err := os.Chmod(open, mode); err != nil {
			t.Fatal(err)
		}
		p, err := newPayload(born{}, &status{}, "", "")
		if (err == nil) != allowed {
			t.Errorf("%v: %v", mode, err)
		}
		if err == nil {
			p.remove()
		}
	}
}
