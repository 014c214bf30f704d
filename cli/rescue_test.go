//go:build linux && cgo

package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vramscope/daemon/socket"
	"vramscope/sampler/snapshot"
)

// guardOf is a daemon's guard whose state a test sets.
type guardOf struct{ state *snapshot.Guard }

func (g guardOf) State() *snapshot.Guard          { return g.state }
func (g guardOf) Pause(time.Time) *snapshot.Guard { return g.state }

// TestRunSaysWhetherThereIsARescue: run names what prevents a rescue, and always starts the command.
func TestRunSaysWhetherThereIsARescue(t *testing.T) {
	later := time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		guard socket.Guard
		alone bool // there is no daemon
		flag  string
		says  string
	}{
		"acts":           {guard: guardOf{&snapshot.Guard{Mode: snapshot.GuardAct}}},
		"acts, in words": {guard: guardOf{&snapshot.Guard{Mode: snapshot.GuardAct}}, flag: "--verbose", says: "daemon (PID "},
		"dry-run":        {guard: guardOf{&snapshot.Guard{Mode: snapshot.GuardDryRun}}, says: "its guard does not act: its mode is dry-run;"},
		"paused":         {guard: guardOf{&snapshot.Guard{Mode: snapshot.GuardAct, Paused: later}}, says: "its guard is paused until " + later.Format(time.TimeOnly)},
		"no guard":       {says: "the daemon has no guard"},
		"no daemon":      {alone: true, says: "vramscope: no rescue: no daemon answers; vramscope daemon --guard=act starts one\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory, err := os.MkdirTemp("", "vs") // the path of a socket must be short
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = os.RemoveAll(directory) }()
			if own := filepath.Join(directory, "vramscope"); !c.alone {
				if err := os.Mkdir(own, 0o700); err != nil {
					t.Fatal(err)
				}
				defer serveGuard(t, own, c.guard)()
			}
			cmd := script([]string{"HOME=" + directory, "XDG_RUNTIME_DIR=" + directory},
				`exec "$0" run --rescue `+c.flag+` -- sh -c 'echo $VRAMSCOPE_RESCUE; exit 7'`)
			var said strings.Builder
			cmd.Stderr = &said
			out, _ := cmd.Output() // its exit code is checked
			if string(out) != "1\n" || cmd.ProcessState.ExitCode() != 7 {
				t.Errorf("the command: %q, %v", out, cmd.ProcessState)
			}
			if got := said.String(); !strings.Contains(got, c.says) || c.flag == "" && strings.Count(got, "\n") != min(len(c.says), 1) {
				t.Errorf("it says %q, want %q", got, c.says)
			}
		})
	}
}

// serveGuard serves as a daemon with this guard, until the returned function is called.
func serveGuard(t *testing.T, directory string, guard socket.Guard) (end func()) {
	t.Helper()
	var latest atomic.Pointer[snapshot.Snapshot]
	s, err := socket.Listen(socket.Options{Directory: directory, Latest: latest.Load, Guard: guard, Status: func() socket.Status { return socket.Status{} }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { s.Serve(ctx); close(done) }()
	return func() { cancel(); <-done }
}
