package boxes

import (
	"context"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/present"
	"vramscope/cli/render"
	"vramscope/fleet"
	forecaster "vramscope/forecast"
	"vramscope/headroom"
	"vramscope/internal/text"
)

func fleetOnce(p *command.Program, f *fleetFlags) *cobra.Command {
	var format string
	var lines int
	cmd := &cobra.Command{
		Use:   "once",
		Short: "the worst lines of the fleet and its sums: a table or JSON",
		Long: `Writes the worst GPUs, or of another --view, and the sums of the
fleet, and ends, with exit code 1 where no box answers. The JSON has the schema
"vramscope/fleet/1".`,
		Example: `  vramscope fleet once --prometheus http://prometheus:9090 --boxes
  vramscope fleet once --prometheus http://prometheus:9090 --view users
  vramscope fleet once --prometheus http://prometheus:9090 --format json | jq .totals`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if lines < 1 || lines > mostFleetLines {
				return command.Usage("--lines: %d is out of range: 1 to %d", lines, mostFleetLines)
			}
			return runFleetOnce(cmd.Context(), p, f, format, lines)
		},
	}
	command.ChoiceFlag(cmd, &format, "format", "f", "table", "json")
	f.addBoxes(cmd)
	cmd.Flags().IntVar(&lines, "lines", usualFleetLines, "at most so many lines")
	command.NameValues(cmd, map[string]string{"lines": "NUMBER"})
	return cmd
}

const usualFleetLines, mostFleetLines = 50, 10000

// runFleetOnce asks for lines and sums at the same time.
func runFleetOnce(ctx context.Context, p *command.Program, f *fleetFlags, format string, lines int) error {
	s, err := p.Settings()
	if err != nil {
		return err
	}
	q, err := f.query(lines, lines)
	if err != nil {
		return err
	}
	source, name, end, err := f.source(ctx, p.Now)
	if err != nil {
		return err
	}
	defer end()
	settle(ctx, source)
	var (
		totals  fleet.Totals
		failed  error
		summing sync.WaitGroup
	)
	summing.Go(func() { totals, failed = source.Totals(ctx, q) })
	pic, err := source.Look(ctx, q)
	summing.Wait()
	if err != nil {
		return fleetFailure(name, err)
	}
	if failed != nil {
		pic.Problems = append(pic.Problems, failed.Error())
	}
	pic.Problems = append(pic.Problems, totals.Problems...)
	fleet.Order(pic.Lines, q.Sort)
	pic.Lines = pic.Lines[:min(len(pic.Lines), lines)]
	table := render.FleetTable(pic, &totals, q.Filter, render.SignsFor(p.ASCII(&s)), p.OutputWidth())
	if err := p.PrintAs(format, render.FleetDocument(name, pic, &totals), table); err != nil {
		return err
	}
	if n := totals.Boxes.Or(0); n > 0 && totals.Down.Or(0) == n {
		return command.Fail("fleet: no box answers")
	}
	return nil
}

// sshTime limits how long settle waits for all boxes together.
const sshTime = 15 * time.Second

// settle waits until all boxes that stream have answered or failed.
func settle(ctx context.Context, source fleet.Source) {
	if boxes, ok := source.(*fleet.SSH); ok {
		ctx, cancel := context.WithTimeout(ctx, sshTime)
		defer cancel()
		boxes.Settle(ctx)
	}
}

func fleetFailure(name string, err error) error {
	return &command.Failure{Code: command.ExitFailure, Err: err, Message: text.Clean(name + ": " + err.Error())}
}

func fleetHeadroom(p *command.Program, f *fleetFlags) *cobra.Command {
	var h present.HeadroomFlags
	cmd := &cobra.Command{
		Use:   "headroom --need SIZE",
		Short: "which boxes have room for a job (exit code)",
		Long: `Names boxes with at least --count GPUs that have SIZE free each, for scripts and
schedulers: by its exit code, and by a line for each box.

  0  yes, on the boxes that are named
  3  no
  4  only after a flush of the processes there

A no names the boxes that come nearest, and what is missing there. --for asks
whether the job will also go on fitting, by the medians of the boxes' forecasts.

SIZE is everything that the job will use on a GPU. A GPU under MIG does not
count: its instances have its memory.`,
		Example: `  vramscope fleet headroom --prometheus http://prometheus:9090 --need 40GiB --count 8 --for 10m
  vramscope fleet headroom --ssh h100-01,h100-02 --need 20GiB --format json`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runFleetHeadroom(cmd.Context(), p, f, h) },
	}
	flags := cmd.Flags()
	flags.StringVar(&h.Need, "need", "", "how much the job will use on a GPU: 40GiB")
	flags.StringVar(&h.Length, "for", "", "it must go on fitting for this long, up to 15m")
	flags.IntVar(&h.Count, "count", 1, "it needs so many GPUs of one box")
	command.ChoiceFlag(cmd, &h.Format, "format", "f", "table", "json")
	command.NameValues(cmd, map[string]string{"need": "SIZE", "for": "DURATION", "count": "NUMBER"})
	return cmd
}

// mostRoomyBoxes limits how many boxes are named.
const mostRoomyBoxes = 50

func runFleetHeadroom(ctx context.Context, p *command.Program, f *fleetFlags, h present.HeadroomFlags) error {
	s, err := p.Settings()
	if err != nil {
		return err
	}
	question, err := h.Question(s.Interval)
	if err != nil {
		return err
	}
	filter, err := fleet.ParseFilter(f.filter)
	if err != nil {
		return command.Usage("--filter: %v", err)
	}
	if filter.ByState() {
		return command.Usage("--filter: headroom takes no state=: it asks what is free, whatever the state")
	}
	source, name, end, err := f.source(ctx, p.Now)
	if err != nil {
		return err
	}
	defer end()
	settle(ctx, source)
	q := fleet.RoomQuery{Need: question.Need, Count: question.Count, Filter: filter, Boxes: mostRoomyBoxes, Length: question.Length}
	for i, horizon := range forecaster.Horizons {
		if q.Length > 0 && (i == 0 || forecaster.Horizons[i-1] < q.Length) {
			q.Horizons = append(q.Horizons, horizon)
		}
	}
	r, err := source.Room(ctx, q)
	if err != nil {
		return fleetFailure(name, err)
	}
	verdict := headroom.No
	switch {
	case r.Judged == 0:
		verdict = headroom.Unknown
	case len(r.Now) > 0:
		verdict = headroom.Yes
	case len(r.AfterFlush) > 0:
		verdict = headroom.AfterFlush
	}
	table := render.RoomTable(&q, &r, verdict, render.SignsFor(p.ASCII(&s)), p.OutputWidth())
	if err := p.PrintAs(h.Format, render.RoomDocument(name, &q, &r, verdict), table); err != nil {
		return err
	}
	return present.ExitOf(verdict, q.Unjudged(&r))
}
