package past

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/monitor"
	"vramscope/cli/sources"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
	"vramscope/ui"
)

type replayFlags struct {
	at, event string
}

func Replay(p *command.Program) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:         "replay [FILE|DIR]",
		Annotations: map[string]string{command.Takes: "ascii config demo read-only theme"},
		Short:       "the monitor's screen on a recording or a saved snapshot",
		Long: `Shows what vramscope daemon --record has recorded on the monitor's screen,
marked PAST. Without FILE or DIR it opens your own recordings. It begins at the
newest moment, at --at, or at the last event of a kind. A snapshot that w has
saved is a single moment. It reads no GPU and acts on no process.

The keys , . move by ten seconds, < > by a minute, { } by an hour, [ ] to the
previous and next event; @ asks for a time, L goes to the newest moment.

Times are local: 03:12 (the last one), '2026-11-21 03:12', or RFC 3339.`,
		Example: `  vramscope replay
  vramscope replay --at 03:12
  vramscope replay --event oom
  vramscope replay recordings/2026-11-21.db`,
		Args:              command.AtMostOne("FILE or DIR"),
		ValidArgsFunction: cobra.FixedCompletions([]string{"db", "json"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE:              func(cmd *cobra.Command, args []string) error { return runReplay(cmd.Context(), p, args, f) },
	}
	cmd.Flags().Var(command.Moment(&f.at), "at", "begin at this time")
	cmd.Flags().Var(command.Choice(&f.event, "KIND", eventNames()...), "event", "begin at the last event of this kind: "+command.OrList(eventNames()))
	command.Complete(cmd, "event", cobra.FixedCompletions(eventNames(), cobra.ShellCompDirectiveNoFileComp))
	command.NameValues(cmd, map[string]string{"at": "TIME"})
	return cmd
}

// eventKinds are the kinds of events that --event takes.
var eventKinds = []struct {
	word string
	kind snapshot.EventKind
}{
	{"oom", snapshot.EventOutOfMemory}, {"alert", snapshot.EventAlarm}, {"lost", snapshot.EventGPULost}, {"xid", snapshot.EventXID},
	{"started", snapshot.EventStarted}, {"ended", snapshot.EventEnded},
	{"flush", snapshot.EventFlush}, {"attach", snapshot.EventAttach}, {"signal", snapshot.EventSignal},
}

func eventNames() (names []string) {
	for _, k := range eventKinds {
		names = append(names, k.word)
	}
	return names
}

func runReplay(ctx context.Context, p *command.Program, args []string, f replayFlags) error {
	if f.at != "" && f.event != "" {
		return command.Usage("--at and --event both say where to begin: leave one out")
	}
	if !p.HasScreen() {
		need := "replay needs a terminal"
		if command.IsTerminal(p.Stdout) {
			need += fmt.Sprintf(" that can move the cursor: TERM is %q", text.Clean(p.Getenv("TERM")))
		}
		return command.Usage("%s", need).Then("  vramscope once --at TIME   writes a moment of a recording", "  vramscope export           writes all of it")
	}
	s, err := p.Settings()
	if err != nil {
		return err
	}
	history, first, err := openReplay(p, args, f)
	if err != nil {
		return err
	}
	if r, ok := history.(*sources.Recording); ok {
		defer r.Close()
	}
	input, err := monitor.Keyboard(p)
	if err != nil {
		return err
	}
	o := monitor.ScreenOptions(p, &s, input)
	o.Source, o.History, o.Replay = moment{first}, history, true
	monitor.SaveFrom(p, &o)
	return ui.Run(ctx, o)
}

// openReplay opens the recording or snapshot to replay, and returns the moment to begin with.
func openReplay(p *command.Program, args []string, f replayFlags) (snapshot.History, *snapshot.Snapshot, error) {
	if len(args) > 0 && strings.HasSuffix(args[0], ".json") {
		if f.at != "" || f.event != "" {
			return nil, nil, command.Usage("a saved snapshot is a moment alone: leave out --at and --event")
		}
		then, err := readSnapshot(args[0])
		return moment{then}, then, err
	}
	r, err := sources.OpenRecording(p, args...)
	if err != nil {
		return nil, nil, err
	}
	first, err := f.begin(r)
	return r, first, err
}

// largestSnapshot limits a file, in bytes: 10,000 rows are about 20 MB.
const largestSnapshot = 64 << 20

// readSnapshot reads a snapshot that the monitor or once --format json has written.
func readSnapshot(path string) (*snapshot.Snapshot, error) {
	refused := func(err error) error {
		return command.Fail("%s: %w", text.Clean(path), command.WithoutPath(err)).Then("  w in the monitor and vramscope once --format json write snapshots")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, refused(err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	var d schema.Document
	if err := json.NewDecoder(io.LimitReader(file, largestSnapshot)).Decode(&d); err != nil {
		return nil, refused(fmt.Errorf("not a snapshot: %w", err))
	}
	if d.Schema != schema.Version {
		return nil, refused(fmt.Errorf("not a snapshot of %s", schema.Version))
	}
	then := d.Snapshot()
	then.Past = true
	return then, nil
}

func (f *replayFlags) begin(r *sources.Recording) (*snapshot.Snapshot, error) {
	_, newest := r.Span()
	at, err := r.MomentOr("at", f.at, newest)
	if err != nil {
		return nil, err
	}
	if f.event != "" {
		kind := eventKinds[slices.Index(eventNames(), f.event)].kind
		last := r.EventsOf(kind, 1)
		if len(last) == 0 {
			return nil, command.Fail("no event of this kind is recorded: %s", f.event)
		}
		at = last[0].Time
	}
	then, ok := r.At(at)
	if !ok {
		return nil, command.Fail("%s: nothing is recorded in it yet", r.Where)
	}
	return then, nil
}

// moment is a ui.Source and a snapshot.History of a single snapshot.
type moment struct{ then *snapshot.Snapshot }

func (m moment) At(time.Time) (*snapshot.Snapshot, bool) { return m.then, true }

func (m moment) Span() (oldest, newest time.Time) { return m.then.Time, m.then.Time }

func (m moment) Events(int) []snapshot.Event { return nil }

func (m moment) Series(_ snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	return snapshot.Points(from, to, buckets)
}

func (m moment) Latest() *snapshot.Snapshot { return m.then }

func (m moment) Updates() <-chan struct{} { return nil }
