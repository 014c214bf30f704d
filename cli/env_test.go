//go:build linux

package cli

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"vramscope/cli/launch"
	"vramscope/internal/process"
)

// TestRunAndEnvPassTheSeccompCount: a probe compares this count with that of its process.
func TestRunAndEnvPassTheSeccompCount(t *testing.T) {
	count, err := process.SeccompFilters("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	const look = `echo "$` + launch.SeccompFilters + `"`
	for _, script := range []string{`"$0" run -- sh -c '` + look + `'`, `eval "$("$0" env)" && ` + look} {
		cmd := exec.Command("sh", "-c", script, os.Args[0])
		cmd.Env = append(os.Environ(), asVramscope+"=1", "XDG_CACHE_HOME="+t.TempDir(), launch.SeccompFilters+"=77")
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != strconv.Itoa(count) {
			t.Errorf("%s: %q, %v, want %d", script, got, err, count)
		}
	}
}
