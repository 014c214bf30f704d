//go:build linux

package attach

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"vramscope/internal/process"
)

// asAttacher makes this test binary attach to the process that it names.
const asAttacher = "VRAMSCOPE_TEST_ATTACH_TO"

func TestMain(m *testing.M) {
	if pid, err := strconv.Atoi(os.Getenv(asAttacher)); err == nil {
		table := process.NewTable("/proc")
		id, err := table.Identify(pid)
		if err == nil {
			_, err = examineAndEnter(context.Background(), testAttacher(), id)
		}
		fmt.Println(err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestProcessContinuesAfterVramscopeIsKilled: gdb detaches by itself.
func TestProcessContinuesAfterVramscopeIsKilled(t *testing.T) {
	t.Parallel()
	for _, python := range needGdb(t) {
		for _, name := range []string{"churn", "threads", "forks", "sleeping", "reading", "loop"} {
			until(t, "vramscope to be killed while gdb stops "+name, func() bool { return killAttacher(t, runTarget(t, python, name)) })
		}
		return
	}
}

// killAttacher reports whether it killed the attacher while gdb stopped the process:
// on a loaded machine attaching may finish first.
func killAttacher(t *testing.T, p *target) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	scratch := t.TempDir()
	cmd.Env = append(os.Environ(), asAttacher+"="+strconv.Itoa(p.pid()), "TMPDIR="+scratch)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // killed or finished
		close(ended)
	}()
	finished := func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	}
	held := func() bool {
		state, err := readStatus(t.Context(), "/proc", strconv.Itoa(p.pid()))
		return err == nil && state.tracer != 0
	}
	caught := false
	until(t, "gdb to hold it", func() bool { caught = held(); return caught || finished() })
	_ = cmd.Process.Kill() // it may have finished
	<-ended
	until(t, "gdb to detach", func() bool { return !held() })
	p.mustBeWell()
	until(t, "its leftovers to be cleared", func() bool {
		clearLeftovers(scratch, uint32(os.Geteuid()))
		left, err := filepath.Glob(filepath.Join(scratch, payloadPrefix+"*"))
		return err == nil && len(left) == 0
	})
	p.mustEndWell()
	return caught
}
