package monitor

import (
	"os"
	"syscall"
	"testing"
	"time"

	"vramscope/action/signal"
	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/cli/sources"
	"vramscope/internal/process"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
)

// demo returns the simulated box, with its sampler after one tick.
func demo(t *testing.T, s config.Settings) (*sources.Set, *sampler.Sampler) {
	t.Helper()
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	p := &command.Program{Getenv: os.Getenv, Now: func() time.Time { return start }}
	p.Flags.Demo = true
	src := sources.OpenWith(p, &s, 0)
	sampling := sampler.New(src.Options)
	sampling.Tick(start)
	return src, sampling
}

func TestSignalOfTheDemoStaysInTheDemo(t *testing.T) {
	src, sampling := demo(t, config.Defaults())
	var target snapshot.Process
	for _, p := range sampling.Latest().Rows {
		if p.User == "gina" {
			target = p
		}
	}
	if _, err := actions(src, sampling, newInflight()).Signal(t.Context(), signal.Request{Process: target.ID.Process, Signal: syscall.SIGTERM}); err != nil {
		t.Fatal(err)
	}
	events := sampling.History().Events(1)
	if len(events) != 1 || events[0].Kind != snapshot.EventSignal || events[0].User != "gina" || events[0].Message != "sent SIGTERM" {
		t.Errorf("the event log begins with %+v", events)
	}
	// A pid that exists only on this machine means nothing on the simulated box.
	own := process.Identity{PID: os.Getpid(), StartTime: 1}
	if _, err := actions(src, sampling, newInflight()).Signal(t.Context(), signal.Request{Process: own, Signal: syscall.SIGKILL}); err == nil {
		t.Error("a real process was signalled from a demo")
	}
	if after := sampling.History().Events(0); len(after) != len(events) {
		t.Errorf("what was refused is in the log: %+v", after)
	}
}

func TestReadOnlyHasNoActions(t *testing.T) {
	s := config.Defaults()
	s.ReadOnly = true
	src, sampling := demo(t, s)
	if actions(src, sampling, newInflight()).Signal != nil {
		t.Error("--read-only, and there is a way to send signals")
	}
}
