package signal

import (
	"context"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/action"
	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

type Request struct {
	Process process.Identity
	Signal  syscall.Signal
	Origin  action.Origin
}

type Result struct{ Signal syscall.Signal }

// Sentence returns "sent SIGTERM to 2963112".
func (r Result) Sentence(pid int) string {
	return "sent " + Name(r.Signal) + " to " + strconv.Itoa(pid)
}

// Name returns "SIGTERM" and the like.
func Name(signal syscall.Signal) string { return unix.SignalName(signal) }

type Sender struct {
	// Send sends a signal if the identity still holds: to a real process, or to a simulated one.
	Send   func(context.Context, process.Identity, syscall.Signal) error
	Latest func() *snapshot.Snapshot // returns the newest snapshot
	Log    *action.Log
	Note   func(snapshot.Event) // takes the event of a signal, or of its failure; may be nil
	Clock  func() time.Time
}

// Run sends a signal. A *process.Refusal says why nothing was sent.
func (s *Sender) Run(ctx context.Context, r Request) (Result, error) {
	snap := s.Latest()
	entry := action.NewEntry("signal", r.Process, r.Origin)
	entry.About(snap, r.Process)
	entry.Signal = Name(r.Signal)
	sent := false
	err := s.Log.Do(entry, func(e *action.Entry) error {
		e.Outcome = "sent"
		err := s.Send(ctx, r.Process, r.Signal)
		sent = err == nil
		return err
	})
	switch {
	case s.Note == nil:
	case sent:
		event := action.NewEvent(s.Clock(), snap, snapshot.EventSignal, r.Process)
		event.Severity, event.Message = snapshot.Notice, "sent "+Name(r.Signal)
		s.Note(event)
	case !action.Refused(err):
		s.Note(action.NewFailure(s.Clock(), snap, Name(r.Signal), r.Process, err))
	}
	if err != nil {
		return Result{}, err
	}
	return Result{r.Signal}, nil
}
