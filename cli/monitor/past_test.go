package monitor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"vramscope/sampler/snapshot"
)

// TestPastOfAMonitor: the past is the user's recording and, after it, a daemon's history, if there are both.
func TestPastOfAMonitor(t *testing.T) {
	began := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	own := spanned{oldest: began, newest: began.Add(time.Minute)}
	if !goesOn(own, own.newest.Add(time.Second)) || goesOn(own, own.newest.Add(time.Hour)) {
		t.Error("a recording goes on for two minutes after its last sample")
	}
	theirs := spanned{oldest: own.newest.Add(30 * time.Second), newest: began.Add(time.Hour)}
	if oldest, newest := pastOf(own, theirs).Span(); !oldest.Equal(began) || !newest.Equal(theirs.newest) {
		t.Errorf("with a daemon from %s to %s", oldest, newest)
	}
	if got := pastOf(own, spanned{}); got != snapshot.History(own) {
		t.Errorf("%T where no daemon answers", got)
	}
	if got := pastOf(nil, theirs); got != snapshot.History(theirs) {
		t.Errorf("%T without a recording of one's own", got)
	}
}

// spanned is a history from one time to another.
type spanned struct {
	snapshot.History
	oldest, newest time.Time
}

func (s spanned) Span() (oldest, newest time.Time) { return s.oldest, s.newest }

// An error that is recorded after the monitor has read the past is still shown.
func TestPastIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, warmed := time.Now(), 0
		var live puts
		putBefore(t.Context(), &live, spanned{}, func(snapshot.History) { warmed++ })
		if len(live) != 2 || live[1].Sub(began) != lastOfPast || warmed != 1 {
			t.Errorf("read at %v, warmed %d times", live, warmed)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		live = nil
		if putBefore(ended, &live, spanned{}, func(snapshot.History) {}); len(live) != 1 {
			t.Errorf("read at %v although the monitor has ended", live)
		}
	})
}

// puts has the times at which a past was put before it.
type puts []time.Time

func (p *puts) Before(snapshot.History) bool { *p = append(*p, time.Now()); return true }
