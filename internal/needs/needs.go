package needs

import (
	"os"
	"os/exec"
	"path/filepath"
)

// TB is the part of testing.TB that this package uses.
type TB interface {
	Helper()
	TempDir() string
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Tool returns the path of a program.
func Tool(t TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, "there is no %s", name)
	}
	return path
}

// Vramscope returns the path of vramscope: the one that VRAMSCOPE_BUILT names (.ci/run builds it
// once), or one built for the test.
func Vramscope(t TB) string {
	t.Helper()
	if built := os.Getenv("VRAMSCOPE_BUILT"); built != "" {
		return built
	}
	binary := filepath.Join(t.TempDir(), "vramscope")
	if out, err := exec.Command(Tool(t, "go"), "build", "-o", binary, "vramscope").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// Full skips a test that takes long, unless VRAMSCOPE_FULL is set.
func Full(t TB) {
	t.Helper()
	if os.Getenv("VRAMSCOPE_FULL") == "" {
		t.Skipf("long: .ci/run --full runs it")
	}
}

// Missing skips the test because something is missing, or fails it if VRAMSCOPE_CI is set.
func Missing(t TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("VRAMSCOPE_CI") != "" {
		t.Fatalf("missing, though .ci/run installs it: "+format, args...)
	} else {
		t.Skipf(format, args...)
	}
}
