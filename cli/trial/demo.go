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
type shortage struct{ sampling *sampler.Sampler }

// newShortage starts a box whose training is killed by a shortage of memory or, with a guard,
// rescued. It samples until the context ends.
func newShortage(ctx context.Context, p *command.Program, rescue bool) *shortage {
	const interval, past = 250 * time.Millisecond, time.Minute
	src := &sources.Set{Options: sampler.Options{Interval: interval}}
	var guarding *runner.Runner
	o := simulator.Options{Shortage: true}
	var box *simulator.Box
	if rescue {
		o.Rescue = func(id process.Identity, gpu string, size quantity.Bytes) {
			go func() { // as probe/preload/shim/rescue.c does in the process
				began := time.Now()
				_, ended, err := guarding.Rescue(ctx, guard.Ask{Process: id, GPUUUID: gpu, Bytes: size})
				succeeded := box.Retry(id)
				if err == nil {
					ended(guard.RescueOutcome{Known: true, Succeeded: succeeded, Waited: time.Since(began)})
				}
			}()
		}
	}
	box = src.Simulate(o, past, p.Now)
	if rescue {
		guarding = src.NewGuard(guard.Policy{Mode: guard.Act, Importance: []guard.Importance{{Command: "train.py*", Value: 500}}})
	}
	s := &shortage{sampler.New(src.Options)}
	if rescue {
		guarding.Sample, guarding.Note = s.sampling.Refresh, s.sampling.Note
		guarding.Flusher = src.Flusher(s.sampling.Refresh)
	}
	src.CatchUp(s.sampling, time.Second)
	go func() { _ = s.sampling.Run(ctx) }() // after a panic the story stands still
	return s
}

// outcome returns the newest event about how the shortage ended; nil before that.
func (s *shortage) outcome() *snapshot.Event {
	for _, e := range s.sampling.History().Events(20) {
		switch e.Kind {
		case snapshot.EventOutOfMemory, snapshot.EventRescued, snapshot.EventNotRescued:
			return &e
		}
	}
	return nil
}

// row returns a program's row; nil if it does not run.
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

// uses returns how much memory programs use; a program that does not run has ended.
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

// scenes are the moments of the story that are shown, with the words for each box.
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

func demoRescue(ctx context.Context, p *command.Program) error {
	t, err := newTeller(p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var boxes [2]*shortage
	for i := range boxes {
		boxes[i] = newShortage(ctx, p, i == 1)
	}
	if err := t.begin("one GPU, played twice at once; the guard is the real one", "vramscope run -- ./train.py", "vramscope run --rescue -- ./train.py"); err != nil {
		return err
	}
	for _, scene := range scenes {
		for !scene.reached(boxes[0]) || !scene.reached(boxes[1]) {
			if time.Since(t.began) > time.Minute {
				return errors.New("demo rescue: the story stands still")
			}
			time.Sleep(50 * time.Millisecond)
		}
		if err := t.scene(scene.title, t.beside(boxes[0].pane(t, scene.says), boxes[1].pane(t, scene.says))); err != nil {
			return err
		}
	}
	return p.Print([]byte("\n" + t.legend([6]string{"other", "unknown", "allocated", "fragmented", "cached", "free"}) +
		t.words(t.look.Styles.Dim, "For real: vramscope daemon --guard=act; vramscope run --rescue -- ./train.py") + "\n"))
}

// pane returns a bar of the box's memory, and the words that says returns.
func (s *shortage) pane(t *teller, says func(*shortage) string) string {
	style := t.look.Styles.Text
	if e := s.outcome(); e != nil && e.Kind == snapshot.EventOutOfMemory {
		style = t.look.Styles.Leak
	}
	g := &s.sampling.Latest().GPUs[0]
	return spelled(cell.PartsOf(g.Parts, g.Memory.Used).Spans(&t.look, g.Memory.Capacity().Or(0), t.column)...) + "\n" + t.words(style, says(s))
}

// teller draws a story in two panes side by side.
type teller struct {
	look   cell.Appearance
	column int // the width of a pane
	began  time.Time
	print  func([]byte) error
}

func newTeller(p *command.Program) (*teller, error) {
	const minWidth, maxWidth = 80, 120
	s, err := p.Settings()
	t := &teller{print: p.Print, began: time.Now(), column: (min(max(p.OutputWidth(), minWidth), maxWidth) - len(columnGap)) / 2}
	t.look.Glyphs = cell.GlyphsFor(p.ASCII(&s))
	if err == nil && command.IsTerminal(p.Stdout) {
		t.look.Styles, _ = themes.New(s.Theme, true, terminal.TraitsOf(os.Environ()).Profile) // the settings have been checked
	}
	return t, err
}

const columnGap = "  "

func (t *teller) beside(left, right string) string {
	column := lipgloss.NewStyle().Width(t.column)
	return lipgloss.JoinHorizontal(lipgloss.Top, column.Render(left), columnGap, column.Render(right)) + "\n"
}

func spelled(spans ...cell.Span) string {
	var s []byte
	for _, span := range spans {
		s = span.Style.Append(s, span.Text)
	}
	return string(s)
}

func (t *teller) words(style themes.Style, words string) string {
	return spelled(cell.Span{Style: style, Text: t.look.Glyphs.Words(words)})
}

// begin prints a line about the simulation, and the commands of the panes.
func (t *teller) begin(says, left, right string) error {
	s := &t.look.Styles
	return t.print([]byte(t.words(s.Badge, "SIMULATED") + t.words(s.Dim, " "+says) + "\n" + t.beside(t.words(s.Strong, "$ "+left), t.words(s.Strong, "$ "+right))))
}

// scene prints the present content of the panes.
func (t *teller) scene(title, panes string) error {
	heading := fmt.Sprintf("%3s  %s", quantity.BriefDuration(time.Since(t.began).Truncate(time.Second)), title)
	return t.print([]byte("\n" + t.words(t.look.Styles.Title, heading) + "\n" + panes))
}

// legend explains the parts of a bar that have a word.
func (t *teller) legend(words [6]string) string {
	legend := ""
	for i, word := range words {
		if word != "" {
			legend += spelled(t.look.Swatches()[i]) + t.words(t.look.Styles.Dim, " "+word+"  ")
		}
	}
	return legend + "\n"
}

// Demo returns --demo as a command, with subcommands for other simulations.
func Demo(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo [rescue|lease|fleet]",
		Short: "a simulated box: the monitor, a rescue, a lease, a fleet",
		Long: `Shows what vramscope does, without a GPU. Everything in it is marked SIMULATED.

  vramscope demo           the monitor, as vramscope --demo
  vramscope demo rescue    a training that is short of memory, without a rescue and with one
  vramscope demo lease     a server sleeps, a training gets its memory, the server wakes
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
	cmd.AddCommand(&cobra.Command{
		Use:         "lease",
		Annotations: map[string]string{command.Takes: "ascii config demo theme"},
		Short:       "a server sleeps, a training gets its memory, the server wakes",
		Long: `Plays how a server and a training share a GPU: the idle server releases its
memory, a lease holds its room, the training takes from that lease, and the
server wakes into its room. GPU, server and training are simulated; the ledger
of leases, the release and its check by the driver's figures are the real ones.`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return demoLease(cmd.Context(), p) },
	}, boxes.Demo(p))
	return cmd
}
