package screen

import (
	"context"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/fleet"
	"vramscope/internal/panics"
	"vramscope/ui/terminal"
)

// Options configure Run.
type Options struct {
	Poller *fleet.Poller // runs while the screen does
	Name   string        // the source's name: "http://prometheus:9090", "ssh"
	// Open fetches a box to open. It may take as long as its context.
	Open  func(ctx context.Context, box string) (*fleet.Opened, error)
	Place Place // where the user left the screen
	// Message is shown first, for example how a shell ended.
	Message string
	Theme   string
	ASCII   bool

	Input, Output *os.File
	Environ       []string
	Now           func() time.Time
}

// Outcome is what the user chose when Run ended.
type Outcome struct {
	Open  *fleet.Opened // this box is to be shown
	Shell string        // a valid destination, to which ssh connects
	Place Place
}

// Run shows the fleet until the user quits or opens a box or a shell. It always restores the
// terminal.
func Run(ctx context.Context, o Options) (Outcome, error) {
	var m *model
	program := terminal.Program{
		Input: o.Input, Output: o.Output, Environ: o.Environ,
		Model: func(h terminal.Hold) (terminal.Model, error) {
			var err error
			m, err = newModel(o, h)
			return m, err
		},
		Feed: o.feed,
	}
	err := program.Run(ctx)
	if m == nil {
		return Outcome{}, err
	}
	m.giveUp()
	m.outcome.Place = m.Place
	return m.outcome, err
}

// feed runs the poller. It sends each newer view and, because the screen shows ages, a clockMsg each second.
func (o *Options) feed(ctx context.Context, send func(tea.Msg)) {
	polled := make(chan *panics.Caught, 1)
	go func() {
		defer func() { polled <- panics.Catch(recover()) }()
		o.Poller.Run(ctx)
	}()
	clock := time.NewTicker(time.Second)
	defer clock.Stop()
	for {
		select {
		case caught := <-polled:
			caught.Again()
			return
		case <-o.Poller.Updates():
			send(viewMsg{o.Poller.View()})
		case <-clock.C:
			send(clockMsg{})
		}
	}
}

func (m *model) Begin(_ context.Context, width, height int) {
	m.width, m.height = width, height
	m.Expect(m.Now(), m.look.Glyphs.ASCII)
	m.take(m.Poller.View())
	m.ask()
	m.shown = m.frame()
}

func (m *model) Frame() terminal.Frame {
	return terminal.Frame{Lines: m.shown, Width: m.width, Height: m.height}
}
