package past

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestTraceIn: the trace is of the same process, and the first after its error.
func TestTraceIn(t *testing.T) {
	failed := time.Now().Truncate(time.Second)
	for name, c := range map[string]struct {
		written map[string]time.Duration // after the error
		want    string
	}{
		"another process":  {map[string]time.Duration{"memory-4711.pickle": 1, "memory-471-a.pickle": 1, "memory-471.pickle.1": 1}, ""},
		"before the error": {map[string]time.Duration{"memory-471.pickle": -1}, ""},
		"at the error":     {map[string]time.Duration{"memory-471.pickle": 0}, "memory-471.pickle"},
		"the first":        {map[string]time.Duration{"memory-471-3.pickle": -1, "memory-471-2.pickle": 2, "memory-471.pickle": 1}, "memory-471.pickle"},
		"the second":       {map[string]time.Duration{"memory-471.pickle": -1, "memory-471-2.pickle": 1, "memory-471-10.pickle": 2}, "memory-471-2.pickle"},
	} {
		directory := t.TempDir()
		for file, after := range c.written {
			path := filepath.Join(directory, file)
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Time{}, failed.Add(after*time.Second)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("/dev/null", filepath.Join(directory, "memory-471-4.pickle")); err != nil {
			t.Fatal(err)
		}
		got, err := traceIn(directory, 471, failed)
		if filepath.Base(got) != c.want && got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
