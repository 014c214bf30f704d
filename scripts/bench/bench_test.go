//go:build linux

package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// TestMeasureTriesAgain: a measurement takes a quarter of an hour, so it continues if a program once
// starts too late. If a program never starts, the measurement ends, unless the program is a peer,
// which is left out.
func TestMeasureTriesAgain(t *testing.T) {
	late := errors.New("no GPU was shown")
	ours, slow, peer := program{name: "vramscope"}, program{name: "slow"}, program{name: "peer", peer: true}
	for _, c := range []struct {
		fails int // of the slow program
		err   error
	}{{0, nil}, {1, nil}, {mostTries - 1, nil}, {mostTries, late}} {
		calls := 0
		all, err := measure([]program{ours, slow, peer}, 3, func(p program, together *meeting) (measured, error) {
			together.meet()
			switch {
			case p.peer:
				return measured{}, errors.New("not installed")
			case p.name == "slow":
				if calls++; calls <= c.fails {
					return measured{}, late
				}
			}
			return measured{cpu: 0.5}, nil
		})
		switch {
		case !errors.Is(err, c.err):
			t.Errorf("%d failures: %v", c.fails, err)
		case calls != c.fails+3 && err == nil:
			t.Errorf("%d failures: watched %d times", c.fails, calls)
		case err == nil && (len(all) != 2 || all[1].program.name != "slow" || all[1].cpu != 0.5):
			t.Errorf("%d failures: %+v", c.fails, all)
		}
	}
}

// TestWatchWaitsForALateStart: a program that shows its screen only after the warm-up is measured
// after a warm-up of its own.
func TestWatchWaitsForALateStart(t *testing.T) {
	s := &stage{scenario: scenario{columns: 80, rows: 24}}
	o := options{warmUp: 100 * time.Millisecond, length: 100 * time.Millisecond}
	late := program{name: "late", command: []string{"sh", "-c", "sleep 1; echo H100; sleep 600"}}
	if m, err := s.watch(late, o, newMeeting(1)); err != nil || m.firstFrame < time.Second || m.rss == 0 {
		t.Errorf("%+v: %v", m, err)
	}
	ends := program{name: "ends", command: []string{"sh", "-c", "echo no driver"}}
	begin := time.Now()
	if _, err := s.watch(ends, o, newMeeting(1)); err == nil || time.Since(begin) > longestStart/2 {
		t.Errorf("a program that has ended: %v after %v", err, time.Since(begin))
	}
}

// TestWholeLeavesGraphsOut: a screen is whole once it has its figures. A graph that fills for a minute
// does not delay that moment. Figures that replace placeholders delay it.
func TestWholeLeavesGraphsOut(t *testing.T) {
	for _, c := range []struct {
		later string
		at    int // index of the output that makes the screen whole
	}{
		{strings.Repeat("█", 60), 0},
		{"\x1b[1;6H" + strings.Repeat("7", 60), 1},
	} {
		outputs := []string{"H100 " + strings.Repeat("–", 60), c.later}
		s := newScreen(80, 2, time.Now())
		s.read(&writes{outputs})
		if first, whole := s.painted(); first != s.filled[0].at || whole != s.filled[c.at].at || s.filled[0].at == s.filled[1].at {
			t.Errorf("%q later: first frame after %v, whole after %v; outputs at %v", c.later[:10], first, whole, s.filled)
		}
	}
}

// writes is a terminal that returns each output by itself.
type writes struct{ outputs []string }

func (w *writes) Read(p []byte) (int, error) {
	if len(w.outputs) == 0 {
		return 0, io.EOF
	}
	time.Sleep(time.Millisecond) // so that no two outputs come at the same time
	n := copy(p, w.outputs[0])
	w.outputs = w.outputs[1:]
	return n, nil
}

func (w *writes) Write(p []byte) (int, error) { return len(p), nil }
