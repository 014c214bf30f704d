//go:build linux

package attach

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestAttachToOwnMounts: a service with PrivateTmp= has a /tmp of its own, which holds the payload
// and the probe's socket.
func TestAttachToOwnMounts(t *testing.T) {
	if out, err := exec.Command("unshare", "-m", "mount", "-t", "tmpfs", "none", "/tmp").CombinedOutput(); err != nil {
		t.Skipf("no mounts of its own: %v: %s", err, out)
	}
	for version, python := range anyPythons(t) {
		cmd := exec.Command("unshare", "-m", "sh", "-c", `mount -t tmpfs none /tmp && exec "$0" -uc "import select
print('begun')
while not select.select([0], [], [], .01)[0]: pass"`, python)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR=", "TMPDIR="+t.TempDir())
		cmd.Stderr = os.Stderr
		input, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		output, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(output, make([]byte, len("begun\n"))); err != nil {
			t.Fatal(err)
		}
		id := identify(t, cmd.Process.Pid)
		a := testAttacher()
		plan := a.Examine(t.Context(), id)
		if refusal := plan.Refusal(); refusal != nil {
			t.Fatal(refusal)
		}
		result, err := a.Enter(t.Context(), &plan)
		if err != nil || result.Hello.StartedBy != "attach" {
			t.Errorf("Python %s: %+v, %v", version, result, err)
		}
		root := fmt.Sprintf("/proc/%d/root", id.PID)
		for pattern, want := range map[string]int{"/tmp/vramscope-attach-*": 0, "/tmp/vramscope-*/*.sock": 1} {
			if found, err := filepath.Glob(root + pattern); err != nil || len(found) != want {
				t.Errorf("Python %s: %s are %q, %v", version, pattern, found, err)
			}
		}
		if err := input.Close(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("Python %s: the program: %v", version, err)
		}
	}
}
