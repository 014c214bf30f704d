package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"vramscope/cli/sources"
	"vramscope/internal/process"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// TestATakenDirectoryIsExplained: doctor names a directory of sockets that is another user's, or no
// directory, and says what to do.
func TestATakenDirectoryIsExplained(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", home)
	table, taken := process.NewTable("/proc"), filepath.Join(home, "vramscope")
	for _, what := range []string{"a link", "another's"} {
		want := taken + " is a symbolic link, or not a directory"
		switch {
		case what == "a link":
			if err := os.Symlink("/", taken); err != nil {
				t.Fatal(err)
			}
		case os.Geteuid() != 0:
			continue // only root can change a directory's owner
		default:
			if err := errors.Join(os.Remove(taken), os.Mkdir(taken, 0o700), os.Chown(taken, 65534, 65534)); err != nil {
				t.Fatal(err)
			}
			want = taken + " belongs to user 65534, not to user 0"
		}
		monitor := probe.NewMonitor(probe.NewFinder(table), nil, []string{taken})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); monitor.Run(ctx) }()
		monitor.Settle(ctx)
		box := Box{Set: &sources.Set{Table: table}, Snapshot: &snapshot.Snapshot{Simulated: true}, Problems: monitor.Problems()}
		cancel()
		<-done
		found := box.probes()
		last := found[len(found)-1]
		if last.verdict != neither || last.what != "taken" || last.text != want || len(last.next) != 2 || !strings.HasSuffix(last.next[1], "rm -r "+taken) {
			t.Errorf("%s: %+v", what, last)
		}
	}
}

// TestSocketsOfExitedProcessesAreNoProblem: a socket that refuses is no problem if its process has exited.
func TestSocketsOfExitedProcessesAreNoProblem(t *testing.T) {
	table := process.NewTable("/proc")
	const absent = 1 << 30 // above any pid_max
	refused := fmt.Errorf("connect: %w", syscall.ECONNREFUSED)
	box := Box{Set: &sources.Set{Table: table}, Problems: []probe.Problem{
		{PID: absent, Path: "/tmp/x/1.sock", Err: refused}, {PID: os.Getpid(), Path: "/tmp/x/2.sock", Err: refused}, {PID: absent, Err: errors.New("another")},
	}}
	problems, found := box.leftOver()
	if len(problems) != 2 || len(found) != 1 || found[0].text != "1 socket of exited processes in /tmp/x: harmless" {
		t.Errorf("%+v, %+v", problems, found)
	}
}
