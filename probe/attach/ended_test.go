//go:build linux

package attach

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestEndDuringAttachIsTold: how the process has ended, and whether attaching may be why.
func TestEndDuringAttachIsTold(t *testing.T) {
	for _, python := range anyPythons(t) {
		for end, want := range map[string]string{
			"os._exit(3)":                          "the process has exited (status 3) while the probe was starting in it, ",
			"os.kill(os.getpid(), signal.SIGSEGV)": "the process has exited (SIGSEGV) while the probe was starting in it, ",
		} {
			cmd := exec.Command(python, "-uc", `
import builtins, os, signal, time
def ends(source, name, *arguments, original=compile):
    if name == "<vramscope_probe>":
        `+end+`
    return original(source, name, *arguments)
builtins.compile = ends
print()
while True:
    time.sleep(.01)`)
			cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+shortDir(t))
			output, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := output.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			_, err = examineAndEnter(t.Context(), testAttacher(), identify(t, cmd.Process.Pid))
			if !errors.Is(err, errExited) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			_ = cmd.Process.Kill() // it has ended
			_ = cmd.Wait()         // as it should
		}
		return
	}
}
