package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// child starts a process that sleeps.
func child(t *testing.T) (*exec.Cmd, Info, *Table) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("signals go through pidfds, which only Linux has")
	}
	cmd := exec.Command("sleep", "600")
	cmd.Env = []string{"CUDA_VISIBLE_DEVICES=0,2", "HOME=/root", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "VLLM_API_KEY=hunter2"}
	if err := cmd.Start(); err != nil {
		t.Skipf("no sleep command here: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	// When Start returns, the child may still be in exec, where /proc has no environment for a moment.
	environ := filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "environ")
	for content, err := os.ReadFile(environ); err == nil && len(content) == 0; content, err = os.ReadFile(environ) {
		runtime.Gosched()
	}
	table := NewTable("/proc")
	info, err := table.Look(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, info, table
}

func TestSignalReachesTheProcess(t *testing.T) {
	cmd, info, table := child(t)
	fd, err := kernel{}.open(os.Getpid())
	if err != nil {
		t.Skipf("this kernel or sandbox has no pidfds: %v", err)
	}
	_ = syscall.Close(fd)
	if err := table.Signal(t.Context(), info.Identity, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Fatalf("the child ended with %v", err)
	}
	err = table.Signal(t.Context(), info.Identity, syscall.SIGTERM)
	wantRefusal(t, err, "has ended")
}

// spy replaces the kernel and records the signals that are sent.
type spy struct {
	openError error
	sent      []syscall.Signal
}

func (s *spy) open(int) (int, error) {
	if s.openError != nil {
		return -1, s.openError
	}
	return syscall.Dup(0)
}

func (s *spy) send(_ int, signal syscall.Signal) error {
	s.sent = append(s.sent, signal)
	return nil
}

func TestSignalIsRefused(t *testing.T) {
	tree := newTree(t)
	tree.add(500, "python3", 1000)
	tree.add(600, "python3", 2000)
	table := tree.table()
	table.users.lookup = noName
	info, err := table.Look(500)
	if err != nil {
		t.Fatal(err)
	}
	reused := info.Identity
	reused.StartTime++
	otherNamespace := info.Identity
	otherNamespace.Namespace++
	gone := Identity{PID: 999, StartTime: 1}
	for _, tc := range []struct {
		name      string
		id        Identity
		openError error
		self      uint32
		want      string
	}{
		{"reused pid", reused, nil, 1000, "PID 500 is another process now"},
		{"reused pid, as root", reused, nil, 0, "PID 500 is another process now"},
		{"other namespace", otherNamespace, nil, 1000, "PID 500 is another process now"},
		{"another user's", info.Identity, nil, 4242, "PID 500 belongs to alice; you are "},
		{"ended", gone, nil, 0, "PID 999 has ended"},
		{"ended before it was opened", info.Identity, syscall.ESRCH, 0, "PID 500 has ended"},
		{"kernel without pidfds", info.Identity, syscall.ENOSYS, 0, "this kernel has no pidfd_open"},
		{"foreign", Identity{PID: 184}, nil, 0, "PID 184 is not in this /proc"},
		{"init", Identity{PID: 1, StartTime: 1}, nil, 0, "init"},
		{"self", Identity{PID: os.Getpid(), StartTime: 1}, nil, 0, "vramscope itself"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sys := &spy{openError: tc.openError}
			err := table.signal(t.Context(), tc.id, syscall.SIGTERM, sys, tc.self)
			wantRefusal(t, err, tc.want)
			if len(sys.sent) != 0 {
				t.Errorf("refused, and sent %v", sys.sent)
			}
		})
	}
	t.Run("granted", func(t *testing.T) {
		for _, self := range []uint32{0, 1000} {
			sys := &spy{}
			if err := table.signal(t.Context(), info.Identity, syscall.SIGINT, sys, self); err != nil || len(sys.sent) != 1 || sys.sent[0] != syscall.SIGINT {
				t.Errorf("as %d: %v, sent %v", self, err, sys.sent)
			}
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		sys := &spy{}
		if err := table.signal(ctx, info.Identity, syscall.SIGINT, sys, 0); !errors.Is(err, context.Canceled) || len(sys.sent) != 0 {
			t.Errorf("got %v, sent %v", err, sys.sent)
		}
	})
}

func wantRefusal(t *testing.T, err error, reason string) {
	t.Helper()
	var refusal *Refusal
	if !errors.As(err, &refusal) || !strings.Contains(err.Error(), reason) || !strings.HasPrefix(err.Error(), "refused: ") {
		t.Errorf("got %v, want a refusal: %s", err, reason)
	}
}

func TestEnvironmentHasNoSecrets(t *testing.T) {
	_, info, table := child(t)
	got, err := table.Environment(info.Identity)
	if err != nil {
		t.Fatal(err)
	}
	want := []Variable{{"CUDA_VISIBLE_DEVICES", "0,2"}, {"PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"}}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %v, want %v", got, want)
	}
	another := info.Identity
	another.StartTime++
	_, err = table.Environment(another)
	wantRefusal(t, err, "is another process now")
}
