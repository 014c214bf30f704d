package ui

import (
	"context"
	"strings"
	"testing"
	"time"

	"vramscope/action/signal"
	"vramscope/sampler/snapshot"
)

func TestScrubbingAndBack(t *testing.T) {
	history := fakeHistory{moments: []*snapshot.Snapshot{smallBox(4, 3, -120), smallBox(4, 3, -60), smallBox(4, 3, -10), smallBox(4, 3, 0)}}
	acted := false
	m := newTestModel(t, smallBox(4, 3, 0), func(o *Options) {
		o.History = history
		o.Actions.Signal = func(context.Context, signal.Request) (signal.Result, error) {
			acted = true
			return signal.Result{}, nil
		}
	})
	m.press(",")
	if got := m.st.shown.Time; !got.Equal(noon().Add(-10 * time.Second)) {
		t.Fatalf(", shows %v", got)
	}
	m.shows("PAST")
	m.shows("10s ago")
	m.tick(smallBox(4, 3, 5))
	m.shows("15s ago") // the past grows older
	if m.st.shown.Time != noon().Add(-10*time.Second) {
		t.Error("a snapshot of now took the place of the past")
	}
	m.press("j", "x", "y")
	if acted || m.st.overlay != nil {
		t.Error("an action in the past")
	}
	m.press("<", "<")
	m.shows("2m05s ago") // where the history begins
	m.press("<")
	m.shows("the history begins here")
	m.press(">", ">", ">", ">")
	if !m.st.past.IsZero() || m.st.shown != m.st.live {
		t.Error("> does not arrive at now")
	}
	m.press("<", "L")
	if !m.st.past.IsZero() || m.st.shown.Past {
		t.Error("L does not go live")
	}
}

// TestLateMomentIsDropped: an answer to an earlier request changes nothing.
func TestLateMomentIsDropped(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.send(pastMsg{request: 0, snapshot: smallBox(1, 1, -10)})
	if len(m.st.shown.GPUs) != 4 {
		t.Error("a moment that was not asked for is shown")
	}
}

func TestFreezeKeepsSampling(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	m.press("p")
	m.shows("FROZEN")
	body := func() string { return strings.Join(strings.Split(m.screen(), "\n")[1:20], "\n") }
	before := body()
	m.tick(smallBox(4, 3, 20))
	if body() != before {
		t.Error("the frozen screen moved")
	}
	m.press("p")
	if body() == before {
		t.Error("the screen does not go on")
	}
	m.shows("LIVE")
}

// TestEscInThePastSaysWhatGoesBack: Esc does not leave the past; it names the key that does.
func TestEscInThePastSaysWhatGoesBack(t *testing.T) {
	box := smallBox(2, 2, 60)
	m := newTestModel(t, box, func(o *Options) {
		o.History = fakeHistory{[]*snapshot.Snapshot{smallBox(2, 2, 0), smallBox(2, 2, 30), box}}
	})
	m.press(",", ",", "esc")
	m.shows("L goes to the present")
	if m.st.past.IsZero() {
		t.Error("Esc left the past")
	}
}
