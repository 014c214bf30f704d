package ui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/sampler/snapshot"
	"vramscope/ui/terminal"
)

const firstSnapshotTimeout = 25 * time.Millisecond

// Run shows the monitor until the user quits; see terminal.Program.Run for other ends.
func Run(ctx context.Context, options Options) error {
	var m *model
	p := terminal.Program{
		Input: options.Input, Output: options.Output, Environ: options.Environ,
		Model: func(h terminal.Hold) (terminal.Model, error) {
			var err error
			m, err = newModel(options, h)
			return m, err
		},
		Feed: options.feed,
	}
	if options.Sampling != nil {
		p.Driver, p.Aligned = options.Sampling, options.Sampling.Align
	}
	return p.Run(ctx)
}

// Begin implements terminal.Model. It waits up to firstSnapshotTimeout for a snapshot.
func (m *model) Begin(ctx context.Context, width, height int) {
	source := m.options.Source
	if source.Latest() == nil {
		select {
		case <-source.Updates():
		case <-time.After(firstSnapshotTimeout):
		case <-ctx.Done():
		}
	}
	m.begin(width, height, source.Latest())
}

func (m *model) Frame() terminal.Frame {
	return terminal.Frame{Lines: m.lines, Width: m.st.width, Height: m.st.height}
}

// feed sends the newest snapshots, and a clockMsg each second while none comes.
func (o *Options) feed(ctx context.Context, send func(tea.Msg)) {
	clock := time.NewTicker(time.Second)
	defer clock.Stop()
	var last *snapshot.Snapshot
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.Source.Updates():
			if next := o.Source.Latest(); next != nil && next != last {
				last = next
				clock.Reset(clockAfter(next.Interval))
				send(snapshotMsg{next})
			}
		case <-clock.C:
			clock.Reset(time.Second)
			send(clockMsg{})
		}
	}
}

// clockAfter returns how long after a snapshot a clockMsg is sent if no other snapshot comes. Whole seconds save wake-ups:
// Go wakes the process even when a timer was due before Reset, and at whole seconds a snapshot wakes it anyway.
func clockAfter(interval time.Duration) time.Duration {
	if interval > time.Second {
		return time.Second
	}
	return 2 * time.Second
}
