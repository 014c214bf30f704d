package ui

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/action/attach"
	"vramscope/action/flush"
	"vramscope/action/signal"
	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/dialog"
	"vramscope/ui/keys"
	"vramscope/ui/uitest"
)

// TestRandomSession plays keys, clicks, the wheel, pastes, resizes and snapshots in random order, in some sizes on a replay.
// No frame is broken, nothing panics, and without y no action runs. With VRAMSCOPE_FULL each size has 5,000 events.
func TestRandomSession(t *testing.T) {
	sizes := [][2]int{{30, 3}, {40, 8}, {60, 11}, {80, 24}, {100, 34}, {120, 40}, {180, 46}, {200, 50}, {300, 80}}
	events := 60
	if os.Getenv("VRAMSCOPE_FULL") != "" {
		events = 5000
	}
	for i, size := range sizes {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			newSession(t, uint64(i+1), size, i%4 == 3).play(events)
		})
	}
}

// session plays random events to a model.
type session struct {
	*testModel
	random  *rand.Rand
	sizes   [2]int
	names   []string // of keys
	played  []string // for the message of a failure
	answers chan tea.Msg
	armed   atomic.Int32 // counts down from a y: its action may run a little later
}

// eventLog is a history with events of many kinds.
type eventLog struct{ snapshot.History }

func (eventLog) Events(int) []snapshot.Event {
	log := uitest.EventLog()
	oom := log[0]
	oom.Kind, oom.Message = snapshot.EventOutOfMemory, "out of memory"
	return append([]snapshot.Event{oom}, log...)
}

func newSession(t *testing.T, seed uint64, size [2]int, replay bool) *session {
	s := &session{random: rand.New(rand.NewPCG(seed, seed)), sizes: size, answers: make(chan tea.Msg, 1000)}
	acts := func(what string) {
		if s.armed.Load() <= 0 {
			t.Errorf("%s without y, after %s", what, s.last())
		}
	}
	first := s.box()
	s.testModel = newTestModel(t, first, func(o *Options) {
		o.History, o.Replay, o.Mouse = eventLog{snapshottest.History(first)}, replay, true
		o.Save = func(*snapshot.Snapshot) (string, error) { return "/x", nil }
		o.SavePage = func(time.Time, string) (string, error) { return "/x", nil }
		o.SaveSettings = func(Settings) (string, error) { return "/x", nil }
		o.Environment = func(process.Identity) ([]process.Variable, error) {
			return []process.Variable{{Name: "A", Value: "b"}, {Name: strings.Repeat("字", 200)}}, nil
		}
		o.LookNow, o.Doctor = func() {}, func() []string { return []string{"doctor", "", "  ok  a  b"} }
		o.PauseGuard = func(context.Context, bool, time.Duration) error { acts("the guard is paused"); return nil }
		if replay {
			return
		}
		o.Actions = Actions{
			Flush: func(_ context.Context, r flush.Request) (flush.Result, error) {
				if !r.DryRun {
					acts("a flush")
				}
				return flush.Result{}, nil
			},
			Signal: func(context.Context, signal.Request) (signal.Result, error) {
				acts("a signal")
				return signal.Result{}, nil
			},
			Attachable: func(context.Context, process.Identity) attach.Plan {
				return []attach.Plan{{}, drawnPlan(), refusedPlan()}[s.random.IntN(3)]
			},
			Attach: func(context.Context, attach.Request) (attach.Result, error) {
				acts("an attach")
				return attach.Result{}, nil
			},
			AuditLog: "/var/log/audit",
			Segments: func(context.Context, process.Identity, string) (snapshot.SegmentMap, error) {
				return uitest.CarolsSegments(), nil
			},
		}
	})
	for _, b := range keys.New(keys.AllAbilities, false).All {
		s.names = append(s.names, b.Keys()...)
	}
	s.names = append(s.names, "b", "K", "Y", "y", "y", "n", "enter", "esc", "backspace", "f7", "f8", "tab", "space", "down", "up")
	s.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
	return s
}

func (s *session) last() string {
	return strings.Join(s.played[max(len(s.played)-30, 0):], " ")
}

// box returns one of the boxes, or a variation of it.
func (s *session) box() *snapshot.Snapshot {
	boxes := []func() *snapshot.Snapshot{
		snapshottest.DrawnBox, snapshottest.DrawnBox, snapshottest.DayOne, snapshottest.SixteenGPUs, snapshottest.NoDriver,
		func() *snapshot.Snapshot { return snapshottest.Crowded(32, 3) },
		func() *snapshot.Snapshot { return guarded(snapshot.GuardDryRun) },
		func() *snapshot.Snapshot { return snapshottest.Hostile(snapshottest.DrawnBox(), "\x1b[2J\u202e字") },
	}
	b := boxes[s.random.IntN(len(boxes))]()
	for i := range b.Rows {
		if p := b.Rows[i].Probe; p != nil {
			p.Capabilities = []string{"snapshot"}
		}
	}
	switch s.random.IntN(6) {
	case 0:
		b.Rows = b.Rows[:s.random.IntN(len(b.Rows)+1)]
	case 1:
		b.Alerts, b.Ended = nil, nil
	case 2:
		b.GPUs = b.GPUs[:s.random.IntN(len(b.GPUs)+1)]
	}
	return b
}

func (s *session) play(events int) {
	s.t.Helper()
	defer func() {
		if value := recover(); value != nil {
			s.t.Fatalf("after %s:\n%v\n%s", s.last(), value, debug.Stack())
		}
	}()
	for range events {
		what, msg := s.event()
		if s.played = append(s.played, what); len(s.played) > 1000 {
			s.played = s.played[500:]
		}
		s.now = s.now.Add(time.Duration(s.random.IntN(2000)) * time.Millisecond)
		s.take(msg)
		for {
			select {
			case answer := <-s.answers:
				s.take(answer)
				continue
			default:
			}
			break
		}
		if s.t.Failed() {
			return
		}
	}
}

// take passes the model a message, and runs the command that it returns.
func (s *session) take(msg tea.Msg) {
	if key, ok := msg.(tea.KeyPressMsg); ok {
		s.armed.Add(-1)
		if key.String() == "y" {
			s.armed.Store(10)
		}
	}
	_, cmd := s.Update(msg)
	checkFrame(s.t, s.last(), s.lines, s.st.width, s.st.height)
	s.run(cmd)
}

// run runs a command, and takes its answer if it comes within 20 ms.
func (s *session) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	answered := make(chan tea.Msg, 1)
	go func() { answered <- cmd() }()
	select {
	case answer := <-answered:
		switch answer := answer.(type) {
		case tea.BatchMsg:
			for _, c := range answer {
				s.run(c)
			}
		case nil:
		default:
			s.answers <- answer
		}
	case <-time.After(20 * time.Millisecond):
	}
}

// likely returns keys for the open overlay or page, which random keys seldom hit.
func (s *session) likely() []string {
	if s.st.typing != nil {
		return []string{"enter", "esc", "1", ":", "up"}
	}
	switch s.st.overlay.(type) {
	case dialog.Question:
		return []string{"y", "d", "down", "up", "s", "u", "g"}
	case dialog.Events:
		return []string{"down", "pgdown", "right", "enter", "enter", "E"}
	case dialog.Why:
		return []string{"down", "up", "w", "esc"}
	case dialog.Setup:
		return []string{"down", "up", "right", "space", "K", "J", "end", "d", "w", "esc", "esc"}
	case dialog.SortBy, dialog.Help:
		return []string{"down", "up", "end", "enter", "?", "tab", "esc"}
	case nil:
		if s.st.detail {
			return []string{"v", "v", "L", "r", "j", "k", "z", "right", "left", "F", "a", "e"}
		}
		return []string{"down", "down", "enter", "enter", "F", "a", "x", "A", "E", "E", "f2", "f6", "?", "/", "[", "L", "L", "space", "i"}
	default:
		return []string{"down", "up", "enter"}
	}
}

// event returns a random message and its name.
func (s *session) event() (string, tea.Msg) {
	x, y := s.random.IntN(s.st.width+2), s.random.IntN(s.st.height+2)
	switch n := s.random.IntN(100); {
	case n < 60:
		names := s.names
		if s.random.IntN(2) == 0 {
			names = s.likely()
		}
		name := names[s.random.IntN(len(names))]
		if name == "ctrl+z" || name == "ctrl+c" || name == "q" || name == "f10" {
			name = "esc"
		}
		return name, keyNamed(name)
	case n < 72:
		return fmt.Sprintf("click(%d,%d)", x, y), tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft}
	case n < 80:
		button := []tea.MouseButton{tea.MouseWheelUp, tea.MouseWheelDown, tea.MouseWheelLeft, tea.MouseWheelRight}[s.random.IntN(4)]
		return fmt.Sprintf("wheel%d(%d,%d)", button, x, y), tea.MouseWheelMsg{X: x, Y: y, Button: button, Mod: tea.KeyMod(s.random.IntN(2)) * tea.ModShift}
	case n < 82:
		return "paste", tea.PasteMsg{Content: "train\nq\x1by"}
	case n < 85:
		width, height := 1+s.random.IntN(300), 1+s.random.IntN(80)
		return fmt.Sprintf("%dx%d", width, height), tea.WindowSizeMsg{Width: width, Height: height}
	case n < 89:
		return fmt.Sprintf("%dx%d", s.sizes[0], s.sizes[1]), tea.WindowSizeMsg{Width: s.sizes[0], Height: s.sizes[1]}
	case n < 91:
		return "light", tea.BackgroundColorMsg{}
	default:
		if s.st.replay {
			return "clock", clockMsg{}
		}
		b := s.box()
		b.Time = s.now
		return "snapshot", snapshotMsg{b}
	}
}
