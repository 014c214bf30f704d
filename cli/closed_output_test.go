//go:build linux && cgo

package cli

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"vramscope/cli/command"
)

func TestClosedOutputIsAnError(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	recording, _, _ := recorded(t)
	for _, args := range [][]string{{"once", "--demo"}, {"--demo"}, {"once", "--demo", "--line"}, {"config"}, {"export", recording}, {"--help"}, {"completion", "bash"}} {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", `exec "$0" "$@" >&-`, self}, args...)...)
		cmd.Env = append(os.Environ(), asVramscope+"=1", "XDG_CONFIG_HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir())
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != command.ExitFailure || stderr.String() != "vramscope: standard output is closed: nothing was written\n" {
			t.Errorf("%v: %v, %q", args, err, stderr.String())
		}
	}
}
