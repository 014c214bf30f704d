package fleet

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"vramscope/sampler/snapshot"
)

// slowSource answers a look when it is told to, or when its context ends.
type slowSource struct {
	asked  chan Query
	answer chan error
}

func (s *slowSource) Look(ctx context.Context, q Query) (*Picture, error) {
	s.asked <- q
	select {
	case err := <-s.answer:
		if err != nil {
			return nil, err
		}
		return &Picture{Unit: q.Unit}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *slowSource) Totals(context.Context, Query) (Totals, error) { return Totals{}, nil }
func (s *slowSource) Box(context.Context, string, time.Time) (*snapshot.Snapshot, error) {
	return nil, errNoFigures
}
func (s *slowSource) Past(context.Context, string, time.Time, time.Time) (Past, error) {
	return nil, nil
}

func eventually(t *testing.T, p *Poller, enough func(View) bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !enough(p.View()); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %+v", p.View())
		}
	}
}

// TestPollerNeverMakesTheScreenWait: while a source is slow the view is there and says
// since when it is asked; another question does not wait for the answer to the former;
// after an error the former picture stays.
func TestPollerNeverMakesTheScreenWait(t *testing.T) {
	s := &slowSource{asked: make(chan Query, 10), answer: make(chan error)}
	p := NewPoller(s, time.Hour, time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	defer func() { cancel(); running.Wait() }()

	p.Ask(Query{Lines: 1, Unit: Boxes})
	<-s.asked
	eventually(t, p, func(v View) bool { return !v.Asked.IsZero() && v.Picture == nil })
	p.Ask(Query{Lines: 2, Unit: GPUs}) // the first is never answered
	if q := <-s.asked; q.Lines != 2 {
		t.Fatalf("asked for %+v", q)
	}
	s.answer <- nil
	eventually(t, p, func(v View) bool {
		return v.Picture != nil && v.Picture.Unit == GPUs && v.Asked.IsZero() && v.Err == nil
	})
	p.Ask(Query{Lines: 2, Unit: GPUs}) // the same: nothing is asked
	p.Again()
	<-s.asked
	s.answer <- errors.New("refused")
	eventually(t, p, func(v View) bool { return v.Err != nil && v.Picture != nil })
	if len(s.asked) > 0 {
		t.Error("the same question was asked again")
	}
}
