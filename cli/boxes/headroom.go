package boxes

import (
	"context"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/present"
	"vramscope/cli/render"
	"vramscope/fleet"
	forecaster "vramscope/forecast"
	"vramscope/headroom"
)

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

// mostRoomyBoxes is how many boxes are named.
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
	rooms, ok := source.(fleet.Rooms)
	if !ok {
		return &command.Failure{Code: command.ExitFailure, Message: name + " cannot say where there is room"}
	}
	q := fleet.RoomQuery{Need: question.Need, Count: question.Count, Filter: filter, Boxes: mostRoomyBoxes, Length: question.Length}
	for i, horizon := range forecaster.Horizons {
		if q.Length > 0 && (i == 0 || forecaster.Horizons[i-1] < q.Length) {
			q.Horizons = append(q.Horizons, horizon)
		}
	}
	r, err := rooms.Room(ctx, q)
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
	doc, text := render.FleetHeadroom(name, &q, &r, verdict, render.SignsFor(p.ASCII(&s)), p.OutputWidth())
	if err := p.PrintAs(h.Format, doc, text); err != nil {
		return err
	}
	return present.ExitOf(verdict, q.Unjudged(&r))
}
