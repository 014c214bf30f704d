package ui

import (
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot/snapshottest"
)

// The detail that has the screen shows the best advice for its process, in one line,
// and no longer than it holds.
func TestDetailShowsAdvice(t *testing.T) {
	s := snapshottest.DrawnBox()
	m := newTestModel(t, s, nil)
	m.press("enter")
	m.shows(" advice     614M  idle for 42m with 71.7G: a flush frees 614M")
	then := *s
	then.Sequence, then.Time = s.Sequence+1, s.Time.Add(adviceEvery+time.Second)
	p := then.Row(m.st.Cursor.ID)
	p.SMUtilization = quantity.From(50, quantity.Driver)
	m.tick(&then)
	m.hides(" advice ")
}
