package doctor

import (
	"os"
	"os/user"
	"path/filepath"
	"testing"
)

func TestTakenNameIsAnotherUsers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vramscope-1000")
	own := uint32(os.Geteuid())
	if f := takenName(path, own); f != nil {
		t.Errorf("where there is none: %+v", f)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if f := takenName(path, own); f != nil {
		t.Errorf("one's own: %+v", f)
	}
	account, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	want := path + " belongs to " + account.Username + ": probes without XDG_RUNTIME_DIR serve in " + path + "-*"
	if f := takenName(path, own+1); f == nil || f.text != want {
		t.Errorf("another user's: %+v, want %q", f, want)
	}
}
