package socket

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/probe"
)

// TestReaderPrefersItsOwnAnswers: the daemon's answers are used only for processes whose probes did
// not answer this user.
func TestReaderPrefersItsOwnAnswers(t *testing.T) {
	id := func(pid int, ns uint64) process.Identity {
		return process.Identity{PID: pid, StartTime: 10, Namespace: ns}
	}
	at := time.Now()
	own := []probe.Answer{{Process: id(1, 5), At: at}, {Process: id(2, 0), Err: errors.New("silent")}}
	r := NewReader(fixed(own), []Place{}, time.Now)
	if got := r.Answers(); len(got) != 2 {
		t.Errorf("without a daemon: %+v", got)
	}
	r.answers.Store(&[]probe.Answer{{Process: id(1, 0), At: at, Daemon: true}, {Process: id(2, 7), At: at, Daemon: true}, {Process: id(3, 7), At: at, Daemon: true}})
	got := r.Answers()
	if len(got) != 3 || got[0].Daemon || !got[1].Daemon || !got[2].Daemon {
		t.Errorf("%+v", got)
	}
	if own[1].Daemon {
		t.Error("the monitor's own answers were changed")
	}
}

// TestReaderAsksItsOwnProbesItself: the reader does not ask its user's daemon, which has the same answers.
func TestReaderAsksItsOwnProbesItself(t *testing.T) {
	directory, _ := serve(t, newBox(), mustShare(t, "none"))
	r := NewReader(fixed(nil), []Place{{directory, uint32(os.Geteuid())}}, time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	defer running.Wait()
	defer cancel()
	r.Settle(ctx)
	client, err := r.Client()
	if err != nil {
		t.Fatal(err)
	}
	if has, err := client.reports(ctx, time.Now); err != nil || len(has) != 1 || len(r.Answers()) > 0 {
		t.Errorf("of %d answers the reader has %d: %v", len(has), len(r.Answers()), err)
	}
}

type fixed []probe.Answer

func (f fixed) Answers() []probe.Answer { return f }
func (f fixed) Unasked() int            { return 0 }

func TestNoDaemonIsNoError(t *testing.T) {
	for _, places := range [][]Place{nil, {{t.TempDir(), uint32(os.Geteuid())}}, {{"/nonexistent", 0}}} {
		if client, err := Dial(t.Context(), places); client != nil || !Absent(err) {
			t.Errorf("%v: %v", places, err)
		}
	}
}

// TestReaderSaysThatNothingIsRecorded: the monitor shows why its daemon does not record, even if
// the daemon still recorded when they connected.
func TestReaderSaysThatNothingIsRecorded(t *testing.T) {
	for _, c := range []struct {
		status Status
		want   string
	}{
		{Status{Recording: "paused", Reason: "the disk is full"}, "the disk is full"},
		{Status{Recording: "recording"}, ""},
		{Status{Recording: "off"}, ""},
		{Status{Recording: "paused", Reason: "the disk is full", Simulated: true}, ""},
	} {
		directory := t.TempDir()
		var said atomic.Bool
		status := func() Status {
			if !said.Swap(true) {
				return Status{Recording: "recording"}
			}
			return c.status
		}
		s, err := Listen(Options{Directory: directory, Latest: newBox().latest.Load, Status: status})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		r := NewReader(fixed(nil), []Place{{directory, uint32(os.Geteuid())}}, time.Now)
		running.Go(func() { s.Serve(ctx) })
		running.Go(func() { r.Run(ctx) })
		r.Settle(t.Context())
		if got := r.RecordingPaused(); got != c.want {
			t.Errorf("%+v: %q", c.status, got)
		}
		cancel()
		running.Wait()
	}
}
