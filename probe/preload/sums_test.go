package preload_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vramscope/internal/install"
)

// TestLibrariesMatchSources compares SHA256SUMS with the files: a source or a
// compiler flag that changed needs the libraries rebuilt.
func TestLibrariesMatchSources(t *testing.T) {
	sums, err := os.ReadFile("SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	recorded := make(map[string]string)
	for line := range strings.Lines(string(sums)) {
		sum, path, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok {
			t.Fatalf("SHA256SUMS: malformed line %q", line)
		}
		recorded[path] = sum
	}
	actual := make(map[string]string)
	for _, pattern := range []string{"libvramscope-*.so*", "shim/*", "../../scripts/build-preload"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		for _, path := range paths {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(content)
			actual[path] = hex.EncodeToString(sum[:])
		}
	}
	for _, path := range slices.Sorted(maps.Keys(actual)) {
		if recorded[path] != actual[path] {
			t.Errorf("%s has changed since the libraries were built: run make preload", path)
		}
		delete(recorded, path)
	}
	for _, architecture := range []string{"amd64", "arm64"} {
		whole, err := os.ReadFile("libvramscope-" + architecture + ".so")
		packed, unread := os.ReadFile("libvramscope-" + architecture + ".so.gz")
		unpacked, broken := install.Unpack(packed)
		if err := errors.Join(err, unread, broken); err != nil || !bytes.Equal(unpacked, whole) {
			t.Errorf("%s: what is embedded is another library: %v", architecture, err)
		}
	}
	for path := range recorded {
		t.Errorf("%s is in SHA256SUMS and no longer there: run make preload", path)
	}
}
