package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"vramscope/cli/boxes"
	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/cli/monitor"
	"vramscope/cli/sources"
	"vramscope/guard"
	"vramscope/guard/runner"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/terminal"
)

// shortage is one of the two boxes of demo rescue.
type shortage struct {
	command  string
	sampling *sampler.Sampler
}

// newShortage has a box's training killed by a shortage of memory or, with a guard, rescued. It
// samples until the context ends.
func newShortage(ctx context.Context, p *command.Program, line string, rescue bool) (*shortage, error) {
	const interval, past = 250 * time.Millisecond, time.Minute
	src := &sources.Set{Options: sampler.Options{Interval: interval}}
	var guarding *runner.Runner
	o := simulator.Options{Shortage: true}
	var box *simulator.Box
	if rescue {
		o.Rescue = func(id process.Identity, gpu string, size quantity.Bytes) {
			go func() { // what probe/preload/shim/rescue.c does in the process
				began := time.Now()
				_, ended, err := guarding.Rescue(ctx, guard.Ask{Process: id, GPUUUID: gpu, Bytes: size})
				succeeded := box.Retry(id)
				if err == nil {
					ended(guard.RescueOutcome{Known: true, Succeeded: succeeded, Waited: time.Since(began)})
				}
			}()
		}
	}
	box, err := src.Simulate(o, past, p.Now)
	if err != nil {
		return nil, err
	}
	if rescue {
		guarding = src.NewGuard(guard.Policy{Mode: guard.Act, Importance: []guard.Importance{{Command: "train.py*", Value: 500}}})
	}
	s := &shortage{command: line, sampling: sampler.New(src.Options)}
	if rescue {
		guarding.Sample, guarding.Note = s.sampling.Refresh, s.sampling.Note
		guarding.Flusher = src.Flusher(s.sampling.Refresh)
	}
	src.CatchUp(s.sampling, time.Second)
	go func() { _ = s.sampling.Run(ctx) }() // a panic ends in a story that stands still
	return s, nil
}

// outcome returns the newest event that says how the shortage ended; nil before it.
func (s *shortage) outcome() *snapshot.Event {
	for _, e := range s.sampling.History().Events(20) {
		switch e.Kind {
		case snapshot.EventOutOfMemory, snapshot.EventRescued, snapshot.EventNotRescued:
			return &e
		}
	}
	return nil
}

// row returns a program's row; nil where it does not run.
func (s *shortage) row(name string) *snapshot.Process {
	snap := s.sampling.Latest()
	for i := range snap.Rows {
		if snap.Rows[i].ProgramName() == name {
			return &snap.Rows[i]
		}
	}
	return nil
}

// The programs of the story.
const (
	theNotebook = "notebook.py"
	theTraining = "train.py"
)

// uses says how much memory programs use; one that does not run has ended.
func (s *shortage) uses(names ...string) string {
	for i, name := range names {
		if p := s.row(name); p != nil {
			names[i] += " " + p.Used.Or(0).String()
		} else {
			names[i] += " has ended"
		}
	}
	return strings.Join(names, ", ")
}

// scenes are the moments of the story that are shown, and what is shown of each box.
var scenes = []struct {
	title   string
	reached func(*shortage) bool
	says    func(*shortage) string
}{{
	"a notebook is idle, and its cache takes a quarter of the GPU",
	func(s *shortage) bool { p := s.row(theNotebook); return p != nil && p.Returnable.Known() },
	func(s *shortage) string {
		return s.uses(theNotebook) + ", of it " + s.row(theNotebook).Returnable.Or(0).String() + " cached"
	},
}, {
	"a training starts beside it",
	func(s *shortage) bool {
		t := s.row(theTraining)
		return t != nil && t.Allocated.Or(0) > 20*quantity.GiB
	},
	func(s *shortage) string { return s.uses(theTraining, theNotebook) },
}, {
	"it needs more than is free",
	func(s *shortage) bool { return s.outcome() != nil },
	func(s *shortage) string { return s.outcome().Message },
}, {
	"four seconds later",
	func(s *shortage) bool { return time.Since(s.outcome().Time) > 4*time.Second },
	func(s *shortage) string { return s.uses(theTraining, theNotebook) },
}}

// demoRescue prints the story as it happens.
func demoRescue(ctx context.Context, p *command.Program) error {
	s, err := p.Settings()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var boxes [2]*shortage
	for i, run := range [...]string{"vramscope run -- ./train.py", "vramscope run --rescue -- ./train.py"} {
		if boxes[i], err = newShortage(ctx, p, run, i == 1); err != nil {
			return err
		}
	}
	t := newTeller(p, &s, boxes)
	if err := t.print(t.beginning()); err != nil {
		return err
	}
	began := time.Now()
	for _, scene := range scenes {
		for !scene.reached(boxes[0]) || !scene.reached(boxes[1]) {
			if time.Since(began) > time.Minute {
				return errors.New("demo rescue: the story stands still")
			}
			time.Sleep(50 * time.Millisecond)
		}
		if err := t.print(t.scene(scene.title, time.Since(began), scene.says)); err != nil {
			return err
		}
	}
	return t.print(t.end())
}

// teller draws the story, with the two boxes beside each other.
type teller struct {
	look   cell.Appearance
	boxes  [2]*shortage
	column int // the column of each box
	print  func([]byte) error
}

func newTeller(p *command.Program, s *config.Settings, boxes [2]*shortage) *teller {
	const minWidth, maxWidth = 80, 120
	t := &teller{boxes: boxes, print: p.Print, column: (min(max(p.OutputWidth(), minWidth), maxWidth) - len(columnGap)) / 2}
	t.look.Glyphs = cell.UnicodeGlyphs()
	if p.ASCII(s) {
		t.look.Glyphs = cell.ASCIIGlyphs()
	}
	if command.IsTerminal(p.Stdout) {
		t.look.Styles, _ = themes.New(s.Theme, true, terminal.TraitsOf(os.Environ()).Profile) // the settings have been checked
	}
	return t
}

const columnGap = "  "

func (t *teller) beside(says func(*shortage) string) string {
	column := lipgloss.NewStyle().Width(t.column)
	return lipgloss.JoinHorizontal(lipgloss.Top, column.Render(says(t.boxes[0])), columnGap, column.Render(says(t.boxes[1]))) + "\n"
}

func spelled(spans ...cell.Span) string {
	var s []byte
	for _, span := range spans {
		s = span.Style.Append(s, span.Text)
	}
	return string(s)
}

func (t *teller) beginning() []byte {
	s := &t.look.Styles
	return []byte(spelled(cell.Span{s.Badge, "SIMULATED"}, cell.Span{s.Dim, " one GPU, played twice at once; the guard is the real one"}) + "\n" +
		t.beside(func(box *shortage) string { return spelled(cell.Span{s.Strong, "$ " + box.command}) }))
}

// scene returns what happened on each box, and its memory at that moment.
func (t *teller) scene(title string, after time.Duration, says func(*shortage) string) []byte {
	s := &t.look.Styles
	heading := fmt.Sprintf("%3s  %s", quantity.BriefDuration(after.Truncate(time.Second)), title)
	return []byte("\n" + spelled(cell.Span{s.Title, heading}) + "\n" + t.beside(func(box *shortage) string {
		style := s.Text
		if e := box.outcome(); e != nil && e.Kind == snapshot.EventOutOfMemory {
			style = s.Leak
		}
		g := &box.sampling.Latest().GPUs[0]
		bar := cell.PartsOf(g.Parts, g.Memory.Used).Spans(&t.look, g.Memory.Capacity().Or(0), t.column)
		return spelled(bar...) + "\n" + spelled(cell.Span{style, t.look.Glyphs.Words(says(box))})
	}))
}

func (t *teller) end() []byte {
	s := &t.look.Styles
	legend := "\n"
	for i, word := range [...]string{"other", "unknown", "allocated", "fragmented", "cached", "free"} {
		legend += spelled(t.look.Swatches()[i], cell.Span{s.Dim, " " + word + "  "})
	}
	return []byte(legend + "\n" + spelled(cell.Span{s.Dim, "For real: vramscope daemon --guard=act; vramscope run --rescue -- ./train.py"}) + "\n")
}

// Demo returns --demo as a command, with subcommands for what else can be seen without a GPU.
func Demo(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo [rescue|fleet]",
		Short: "a simulated box: the monitor, a rescue, a fleet",
		Long: `Shows what vramscope does, without a GPU. Everything in it is marked SIMULATED.

  vramscope demo           the monitor, as vramscope --demo
  vramscope demo rescue    a training that is short of memory, without a rescue and with one
  vramscope demo fleet     many boxes on one screen

Many commands take --demo: once, headroom, doctor, guard check and others.`,
		Example: `  vramscope demo
  vramscope demo rescue`,
		Args: command.NoArguments,
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			p.Flags.Demo = true
			return p.CheckGlobalFlags(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return monitor.Run(cmd.Context(), p) },
	}
	cmd.AddCommand(&cobra.Command{
		Use:         "rescue",
		Annotations: map[string]string{command.Takes: "ascii config demo theme"},
		Short:       "a training that is short of memory, without a rescue and with one",
		Long: `Plays the same minute on two simulated boxes at once: a training starts beside a
notebook that is idle and caches 22 GiB. On one box it is out of memory; on the
other it runs under vramscope run --rescue, and the guard has the notebook free
its cache. Sampler, guard and allocators are the real ones, and so are all figures.`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return demoRescue(cmd.Context(), p) },
	})
	cmd.AddCommand(boxes.Demo(p))
	return cmd
}
