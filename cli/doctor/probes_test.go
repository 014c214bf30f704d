package doctor

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"vramscope/internal/process"
	"vramscope/nvml"
	"vramscope/probe"
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

// TestProbeOnAGPUThatIsNotListed: its figures are in no row, and doctor says why.
func TestProbeOnAGPUThatIsNotListed(t *testing.T) {
	box := Box{
		Devices: []nvml.Device{{UUID: "GPU-1"}},
		Answers: []probe.Answer{
			{Process: process.Identity{PID: 7}, Report: probe.Report{Devices: []probe.Device{{UUID: "GPU-1"}, {UUID: "GPU-2"}, {UUID: "MIG-3"}}}},
		},
	}
	found := box.elsewhere()
	if len(found) != 1 || found[0].what != "PID 7" || !strings.Contains(found[0].text, "GPU-2") {
		t.Errorf("found %+v", found)
	}
	box.Devices = nil // without a driver every GPU is known from probes
	if found := box.elsewhere(); len(found) != 0 {
		t.Errorf("without a driver: %+v", found)
	}
}

// TestSocketsOfExitedProcessesAreNoProblem: one of a process that runs is.
func TestSocketsOfExitedProcessesAreNoProblem(t *testing.T) {
	table := process.NewTable("/proc")
	const nobody = 1 << 30 // above any pid_max
	refused := fmt.Errorf("connect: %w", syscall.ECONNREFUSED)
	box := Box{Table: table, Problems: []probe.Problem{
		{PID: nobody, Path: "/tmp/x/1.sock", Err: refused}, {PID: os.Getpid(), Path: "/tmp/x/2.sock", Err: refused}, {PID: nobody, Err: errors.New("another")},
	}}
	problems, found := box.leftOver()
	if len(problems) != 2 || len(found) != 1 || found[0].text != "1 socket of exited processes in /tmp/x: harmless" {
		t.Errorf("%+v, %+v", problems, found)
	}
}
