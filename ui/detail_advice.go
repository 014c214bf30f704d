package ui

import (
	"time"

	"vramscope/guard/advice"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// advised is the best advice for a process, as of a moment. `vramscope advise` has the
// others, with prices and sources.
type advised struct {
	row  snapshot.RowID
	at   time.Time
	line string
}

// adviceEvery is how often it is made anew: the rules look at minutes and hours, and
// read a thousand samples.
const adviceEvery = 10 * time.Second

// keepAdvice makes the advice of the detail that has the screen.
func (m *model) keepAdvice() {
	st := &m.st
	if !st.detail || st.shown == nil {
		return
	}
	id, at := detailed(st, nil), st.moment()
	if id == st.advised.row && at.Sub(st.advised.at).Abs() < adviceEvery {
		return
	}
	st.advised = advised{row: id, at: at}
	best := advice.Of(advice.Input{Snapshot: st.shown, History: st.history}, id)
	if len(best) == 0 {
		return
	}
	if bytes, ok := best[0].Bytes.Value(); ok && bytes >= quantity.MiB {
		st.advised.line = bytes.String() + "  "
	}
	st.advised.line += best[0].Text
}
