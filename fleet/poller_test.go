package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// slowSource answers a look when the test allows it, or when its context ends.
type slowSource struct {
	Source
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

// Totals returns the number of the filter's terms as the number of boxes, and refuses the filter x.
func (s *slowSource) Totals(_ context.Context, q Query) (Totals, error) {
	if q.Filter.String() == "x" {
		return Totals{}, errors.New("refused\x1b[2J")
	}
	return Totals{Boxes: quantity.From(len(q.Filter), quantity.Computed)}, nil
}
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

// TestPollerNeverMakesTheScreenWait: while a source is slow, View returns at once, and has the time of the
// pending query. A new query does not wait for the answer to the previous one. After an error the previous
// picture stays.
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
	p.Ask(Query{Lines: 2, Unit: GPUs}) // the first query is never answered
	if q := <-s.asked; q.Lines != 2 {
		t.Fatalf("asked for %+v", q)
	}
	s.answer <- nil
	eventually(t, p, func(v View) bool {
		return v.Picture != nil && v.Picture.Unit == GPUs && v.Asked.IsZero() && v.Err == nil
	})
	p.Ask(Query{Lines: 2, Unit: GPUs}) // the same query is not sent again
	p.Again()
	<-s.asked
	s.answer <- errors.New("refused")
	eventually(t, p, func(v View) bool { return v.Err != nil && v.Picture != nil })
	if len(s.asked) > 0 {
		t.Error("the same question was asked again")
	}
}

// boxSource returns one box, or an error.
type boxSource struct {
	slowSource
	mu  sync.Mutex
	err error
}

func (s *boxSource) Box(context.Context, string, time.Time) (*snapshot.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &snapshot.Snapshot{Time: time.Unix(1e9, 0)}, s.err
}

// TestAnOpenBoxSaysWhyItIsLate: after an error the last figures stay, with the reason, until newer figures
// come. Ages are by the source's clock.
func TestAnOpenBoxSaysWhyItIsLate(t *testing.T) {
	s := &boxSource{}
	box, err := Open(t.Context(), s, "a", time.Millisecond, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if age := box.Now().Sub(time.Unix(1e9, 0)); age < 0 || age > time.Minute {
		t.Errorf("the figures are %s old at once", age)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { box.Run(ctx) })
	defer func() { cancel(); running.Wait() }()
	for _, fails := range []error{errors.New("refused\x1b[2J"), nil} {
		s.mu.Lock()
		s.err = fails
		s.mu.Unlock()
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
			alerts := box.Latest().Alerts
			if fails == nil && len(alerts) == 0 || fails != nil && len(alerts) == 1 && alerts[0].Message == "no newer figures: refused?[2J" {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%v: alerts %+v", fails, alerts)
			}
		}
	}
}

// TestTotalsFollowTheLines: the totals are queried again after looksASum intervals, however often the lines
// are.
func TestTotalsFollowTheLines(t *testing.T) {
	s := &slowSource{asked: make(chan Query, 1000), answer: make(chan error, 1000)}
	for range cap(s.answer) {
		s.answer <- nil
	}
	p := NewPoller(s, time.Millisecond, time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	defer func() { cancel(); running.Wait() }()
	p.Ask(Query{Lines: 1})
	var first *Totals
	eventually(t, p, func(v View) bool { first = v.Totals; return first != nil })
	eventually(t, p, func(v View) bool { return v.Totals != first })
}

// TestTotalsAreOfTheLines: the totals of another filter are not shown beside the lines. If the new totals
// fail, the problem is shown.
func TestTotalsAreOfTheLines(t *testing.T) {
	s := &slowSource{asked: make(chan Query, 1000), answer: make(chan error, 1000)}
	for range cap(s.answer) {
		s.answer <- nil
	}
	p := NewPoller(s, time.Hour, time.Now)
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	running.Go(func() { p.Run(ctx) })
	defer func() { cancel(); running.Wait() }()
	for _, words := range []string{"", "a b", "a b c", "x", "a"} {
		f, _ := ParseFilter(words)
		p.Ask(Query{Lines: 1, Filter: f})
		eventually(t, p, func(v View) bool {
			if v.Totals != nil && v.Totals.Boxes.Known() && v.Totals.Boxes.Or(0) != len(v.Query.Filter) {
				t.Fatalf("sums of %d words beside %d", v.Totals.Boxes.Or(0), len(v.Query.Filter))
			}
			return v.Totals != nil && slices.Equal(v.Query.Filter, f)
		})
		if v := p.View(); words == "x" && (v.Totals.Boxes.Known() || !slices.Equal(v.Totals.Problems, []string{"sums: refused?[2J"})) {
			t.Errorf("%+v", v.Totals)
		}
	}
}

// TestAPollerThatRunsAgainAsksAtOnce: a second Run asks at once, because the figures may be old.
func TestAPollerThatRunsAgainAsksAtOnce(t *testing.T) {
	s := &slowSource{asked: make(chan Query, 10), answer: make(chan error)}
	p := NewPoller(s, time.Hour, time.Now)
	p.Ask(Query{Lines: 1})
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { p.Run(ctx) })
		select {
		case q := <-s.asked:
			if q.Lines != 1 {
				t.Errorf("asked for %+v", q)
			}
		case <-time.After(30 * time.Second):
			t.Error("nothing was asked")
		}
		cancel()
		running.Wait()
	}
}
