package why

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// TestPageHasTheGuardsAnswer: the page has the guard's answer to this process, for this allocation.
func TestPageHasTheGuardsAnswer(t *testing.T) {
	const answer = "not rescued: an allocation of 30.0G: 19.8G are missing"
	for _, c := range []struct {
		name string
		kind snapshot.EventKind
		row  snapshot.RowID
		at   time.Duration // before the error
		want bool
	}{
		{"just before", snapshot.EventNotRescued, id(100), time.Second, true},
		{"long before", snapshot.EventNotRescued, id(100), time.Minute, false},
		{"another process", snapshot.EventNotRescued, id(101), time.Second, false},
		{"another event", snapshot.EventRescued, id(100), time.Second, false},
	} {
		h := &story{
			from: time.Hour, own: func(float64) (reserved, allocated quantity.Bytes) { return 40 * gib, 40 * gib },
			events: []snapshot.Event{{Time: failedAt.Add(-c.at), Kind: c.kind, Row: c.row, Message: answer}},
		}
		e := Gather(h, &snapshot.Event{Time: failedAt, Kind: snapshot.EventOutOfMemory, Row: id(100)})
		var page strings.Builder
		v := Judge(e)
		for _, line := range Page(e, &v, 200) {
			page.WriteString(line.Text + "\n")
		}
		if got := strings.Contains(page.String(), "The guard was asked: "+answer+"."); got != c.want {
			t.Errorf("%s: the page has it: %t\n%s", c.name, got, page.String())
		}
	}
}
