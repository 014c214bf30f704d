package monitor

import (
	"testing"
	"time"

	"vramscope/sampler/snapshot"
)

// TestPastOfAMonitor: one's own recording and, where that has ended, what a daemon has.
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
