package boxes

import (
	"context"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/render"
	"vramscope/fleet"
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

// runFleetOnce asks for lines and sums side by side.
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
	doc, text := render.Fleet(name, pic, &totals, q.Filter, render.SignsFor(p.ASCII(&s)), p.OutputWidth())
	if err := p.PrintAs(format, doc, text); err != nil {
		return err
	}
	if n := totals.Boxes.Or(0); n > 0 && totals.Down.Or(0) == n {
		return &command.Failure{Code: command.ExitFailure, Message: "fleet: no box answers"}
	}
	return nil
}

// sshTime is how long all boxes have together to answer over ssh.
const sshTime = 15 * time.Second

// settle waits for boxes that are asked over ssh.
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
