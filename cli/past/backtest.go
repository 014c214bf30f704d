package past

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/gather"
	"vramscope/cli/render"
	"vramscope/cli/sources"
	forecaster "vramscope/forecast"
	"vramscope/forecast/backtest"
	"vramscope/internal/text"
	monitor "vramscope/sampler/replay"
)

type backtestFlags struct {
	format string
	dump   string
	bare   bool
}

func Backtest(p *command.Program) *cobra.Command {
	var f backtestFlags
	cmd := &cobra.Command{
		Use:         "backtest FILE.csv|FILE.db|DIR",
		Annotations: map[string]string{command.Takes: "ascii config"},
		Short:       "score the forecasts and alerts on a recording",
		Long: `Replays each series of a recording through the monitor, as the only process of a
GPU, and says how good its alerts and forecasts were: alerts with their lead and
how many were wrong, errors beside those of "it stays as it is", what the
intervals held and how wide they were, times to full, leaks, and what a sample
costs. It reads no GPU. --bare replays the forecaster alone, without the
monitor's rules for loads and alerts: then an alert is a time to full below
5 minutes.

The file has the columns t_seconds,series_id,used_bytes,total_bytes, and may be
compressed with gzip; - is standard input. A total that is 0 or missing is
unknown: then there are no times to full. Rows that cannot be used are skipped,
and named with their line. FILE.db and DIR are what vramscope daemon --record
writes: each of its processes is a series.

--dump writes what was forecast at every sample: forecasts.csv, full.csv (a row
for each sample that expects the capacity to be reached within 15 minutes; an
empty latest_seconds is later than that) and leaks.csv (a row for each change
between steady, growing and leak). docs/forecast.md explains the scoring.`,
		Example: `  vramscope backtest trace.csv.gz
  vramscope backtest trace.csv --format json | jq '.pooled.horizons[] | {horizon_seconds, relative_mae}'
  vramscope backtest trace.csv --dump out
  vramscope backtest trace.csv --bare`,
		Args:              oneTrace,
		ValidArgsFunction: cobra.FixedCompletions([]string{"csv", "gz", "db"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE: func(_ *cobra.Command, args []string) error {
			return runBacktest(p, args[0], f)
		},
	}
	flags := cmd.Flags()
	command.ChoiceFlag(cmd, &f.format, "format", "f", "table", "json")
	flags.StringVar(&f.dump, "dump", "", "write every forecast into files in this directory")
	flags.BoolVar(&f.bare, "bare", false, "score the forecaster alone")
	command.NameValues(cmd, map[string]string{"dump": "DIR"})
	return cmd
}

func oneTrace(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return command.Usage("backtest needs a file").
			Then("  FILE.csv         columns t_seconds,series_id,used_bytes,total_bytes", "  FILE.db or DIR   what vramscope daemon --record has written")
	case len(args) > 1:
		return command.Usage("backtest takes one file, not %d", len(args))
	}
	return nil
}

func runBacktest(p *command.Program, path string, f backtestFlags) error {
	s, err := p.Settings()
	if err != nil {
		return err
	}
	trace, name, err := openTrace(p, path)
	if trace != nil {
		reportBadRows(p, trace.Bad)
	}
	if err != nil {
		return err
	}
	scores, err := replay(p, trace, &f)
	if err != nil {
		return fmt.Errorf("backtest: %w", err)
	}
	doc := backtest.DocumentOf(name, f.bare, trace, scores)
	return p.PrintAs(f.format, doc, render.Backtest(&doc, render.SignsFor(p.ASCII(&s)), p.OutputWidth()))
}

// openTrace reads a recording, a CSV file, or standard input for "-"; name is for messages.
func openTrace(p *command.Program, path string) (trace *backtest.Trace, name string, err error) {
	name = filepath.Base(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() || filepath.Ext(path) == ".db" {
		r, err := sources.OpenRecording(p, path)
		if err != nil {
			return nil, name, err
		}
		defer r.Close()
		trace, err = gather.Trace(r.Recording)
		return trace, name, err
	}
	if path == "-" {
		trace, err = parseTrace(p.Stdin, "standard input")
		return trace, "standard input", err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, name, command.Fail("open %s: %w", text.Clean(path), command.WithoutPath(err))
	}
	defer func() { _ = file.Close() }() // nothing was written
	trace, err = parseTrace(file, path)
	return trace, name, err
}

func parseTrace(r io.Reader, path string) (*backtest.Trace, error) {
	trace, err := backtest.Read(r)
	if err == nil {
		return trace, nil
	}
	f := command.Fail("%s: %w", text.Clean(path), err)
	_, unreadable := errors.AsType[*fs.PathError](err)
	switch {
	case unreadable:
		return trace, f
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		return trace, f.Then("  it is cut short or damaged; what can be unpacked:  zcat FILE | vramscope backtest -")
	}
	return trace, f.Then("  columns: t_seconds,series_id,used_bytes,total_bytes")
}

// namedRows is how many bad rows standard error names. JSON has them all.
const namedRows = 20

func reportBadRows(p *command.Program, bad []backtest.BadRow) {
	var b bytes.Buffer
	for i, row := range bad {
		if i == namedRows {
			fmt.Fprintf(&b, "vramscope: %d more rows skipped\n", len(bad)-i)
			break
		}
		fmt.Fprintf(&b, "vramscope: line %d skipped: %s\n", row.Line, row.Reason)
	}
	_, _ = p.Stderr.Write(b.Bytes()) // there is no other place to report a failure
}

// replay scores each series. The cost of a sample is that of the forecaster alone.
func replay(p *command.Program, trace *backtest.Trace, f *backtestFlags) (scores []*backtest.Score, err error) {
	var dump *backtest.Dump
	if f.dump != "" {
		if dump, err = backtest.NewDump(f.dump); err != nil {
			return nil, err
		}
		defer func() { err = dump.Close() }()
	}
	bare := func() backtest.Method { return forecaster.New() }
	for _, series := range trace.Series {
		var listen func(*backtest.Sample, *backtest.Answer)
		if dump != nil {
			listen = dump.Begin(series)
		}
		method := bare()
		if !f.bare {
			method = monitor.New(series)
		}
		score := backtest.Replay(method, series, listen)
		score.Cost = backtest.Cost(bare, series, p.Now)
		scores = append(scores, score)
	}
	return scores, nil
}
