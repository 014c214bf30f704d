package main

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"vramscope/fleet"
	"vramscope/sampler/snapshot"
)

// restarted keeps a fleet and a box open while their engine stops and comes back. The previous figures
// must stay, with the reason, until newer figures come.
func restarted(t *testing.T, source fleet.Source, stop, start func()) {
	box, err := fleet.Open(t.Context(), source, "box-0001:9841", 50*time.Millisecond, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	p := fleet.NewPoller(source, 50*time.Millisecond, time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	running.Go(func() { box.Run(ctx) })
	defer func() { cancel(); running.Wait() }()
	p.Ask(fleet.Query{Lines: 50, Unit: fleet.Boxes})
	wait := func(what string, enough func(fleet.View, *snapshot.Snapshot) bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !enough(p.View(), box.Latest()); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("never %s: %v, %+v", what, p.View().Err, box.Latest().Alerts)
			}
		}
	}
	silent := func(s *snapshot.Snapshot) bool {
		return len(s.Alerts) > 0 && strings.HasPrefix(s.Alerts[0].Message, "no newer figures: not reached")
	}
	wait("lines", func(v fleet.View, _ *snapshot.Snapshot) bool { return v.Picture != nil && len(v.Picture.Lines) > 7 })
	stop()
	wait("silent", func(v fleet.View, s *snapshot.Snapshot) bool {
		return v.Err != nil && strings.Contains(v.Err.Error(), "not reached") && len(v.Picture.Lines) > 7 && silent(s) && len(s.GPUs) == 8
	})
	stopped := time.Now()
	start()
	wait("back", func(v fleet.View, s *snapshot.Snapshot) bool {
		return v.Err == nil && v.Answered.After(stopped) && len(v.Picture.Lines) > 7 && !silent(s) && s.Time.After(stopped) && len(s.GPUs) == 8
	})
}
