package fleet

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	"vramscope/internal/panics"
	"vramscope/internal/text"
)

// Poller asks a Source again and again, and keeps the newest answer in one slot, so that the screen
// never waits for a network.
type Poller struct {
	source Source
	every  time.Duration
	now    func() time.Time

	mu      sync.Mutex
	query   Query
	view    View
	order   order
	summed  time.Time     // when the totals were asked for
	changed chan struct{} // holds one token
	wake    chan struct{} // holds one token: ask at once
}

// looksASum is the number of looks per query for totals, which cost an engine more than a look.
const looksASum = 3

// View is the newest answer with its problems.
type View struct {
	Query    Query     // the query that Picture and Totals answer
	Picture  *Picture  // nil before the first
	Totals   *Totals   // nil before the first
	Answered time.Time // when Picture came
	Asked    time.Time // when the pending query was sent; zero if none is pending
	Err      error     // why the last attempt failed; Picture is from an earlier one
}

// NewPoller returns a Poller that asks nothing before Ask. The argument every is the time from an answer to the
// next query.
func NewPoller(source Source, every time.Duration, now func() time.Time) *Poller {
	return &Poller{source: source, every: every, now: now, changed: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
}

// Every returns the time from an answer to the next query.
func (p *Poller) Every() time.Duration { return p.every }

// View returns the newest view.
func (p *Poller) View() View {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.view
}

// Updates returns a channel that holds one token when there is a newer view.
func (p *Poller) Updates() <-chan struct{} { return p.changed }

// Ask changes the query, without waiting for the answer to the last one.
func (p *Poller) Ask(q Query) {
	p.mu.Lock()
	same := reflect.DeepEqual(p.query, q)
	p.query = q
	p.mu.Unlock()
	if !same {
		token(p.wake)
	}
}

// Again makes Run ask at once.
func (p *Poller) Again() { token(p.wake) }

func token(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default: // there is one already
	}
}

// set changes the view, and puts a token into changed.
func (p *Poller) set(change func(v *View)) {
	p.mu.Lock()
	change(&p.view)
	p.mu.Unlock()
	token(p.changed)
}

// Run asks until the context ends. A panic of the source becomes a panic of Run. A later Run
// asks at once.
func (p *Poller) Run(ctx context.Context) {
	defer token(p.wake)
	select {
	case <-p.wake:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		p.mu.Lock()
		q := p.query
		p.mu.Unlock()
		asking, cancel := context.WithCancel(ctx)
		done := make(chan *panics.Caught, 1)
		go func() {
			defer func() { done <- panics.Catch(recover()) }()
			p.once(asking, q)
		}()
		var again <-chan time.Time
		for waiting := true; waiting; {
			select {
			case caught := <-done:
				caught.Again()
				done, again = nil, time.After(p.every)
			case <-again:
				waiting = false
			case <-p.wake:
				waiting = false
			case <-ctx.Done():
				waiting = false
			}
		}
		cancel()
		if done != nil {
			(<-done).Again() // its context has ended
		}
	}
}

// once asks for the lines and then, if due, for the totals. An engine that had to compute both at
// once would return the lines later.
func (p *Poller) once(ctx context.Context, q Query) {
	p.set(func(v *View) { v.Asked = p.now() })
	pic, err := p.source.Look(ctx, q)
	if ctx.Err() != nil {
		return
	}
	p.set(func(v *View) {
		if v.Asked, v.Err = (time.Time{}), err; err == nil {
			p.order.sort(pic.Lines, q.Sort)
			if !slices.Equal(v.Query.Filter, q.Filter) {
				v.Totals = nil // the old totals are of other lines
			}
			v.Picture, v.Answered, v.Query = pic, p.now(), q
		}
	})
	if err != nil || p.View().Totals != nil && p.now().Sub(p.summed) < looksASum*p.every {
		return
	}
	t, err := p.source.Totals(ctx, q)
	if ctx.Err() != nil {
		return
	}
	p.summed = p.now()
	if err != nil {
		t, p.summed = Totals{Problems: []string{"sums: " + text.Clean(err.Error())}}, time.Time{} // the next look asks for totals again
	}
	p.set(func(v *View) { v.Totals = &t })
}
