package past

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vramscope/cli/command"
	"vramscope/cli/sources"
	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/recording"
	"vramscope/schema"
)

type exportFlags struct {
	format, from, to string
	metrics          []string
}

func Export(p *command.Program) *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:         "export [FILE|DIR]",
		Annotations: map[string]string{command.Takes: "demo"},
		Short:       "write a recording as JSON lines or CSV",
		Long: `Writes every sample of a recording: a line for each GPU, MIG instance and
process at each tick, oldest first. Sizes are in bytes; null, or nothing in CSV,
is unknown. Without FILE or DIR it reads your own recordings.

Times are local: 03:12 (the last one), '2026-11-21 03:12', or RFC 3339. sqlite3,
DuckDB and pandas read sums per minute, events and alerts from the files
themselves: docs/recording.md.`,
		Example: `  vramscope export --from 03:00 --to 03:30 --format csv > night.csv
  vramscope export --metric used_bytes,cached_bytes | jq -c 'select(.pid == 4711)'
  vramscope export recordings/2026-11-21.db | gzip > day.jsonl.gz`,
		Args:              command.AtMostOne("FILE or DIR"),
		ValidArgsFunction: cobra.FixedCompletions([]string{"db"}, cobra.ShellCompDirectiveFilterFileExt),
		RunE:              func(_ *cobra.Command, args []string) error { return runExport(p, args, f) },
	}
	command.ChoiceFlag(cmd, &f.format, "format", "f", "jsonl", "csv")
	command.FromTo(cmd, &f.from, &f.to)
	cmd.Flags().StringSliceVar(&f.metrics, "metric", nil, "only these metrics, comma-separated, as docs/json.md names them")
	cmd.Flags().Lookup("metric").DefValue = "" // not "(default [])" in the help
	command.NameValues(cmd, map[string]string{"metric": "NAMES"})
	return cmd
}

func runExport(p *command.Program, args []string, f exportFlags) error {
	ids, err := f.ids()
	if err != nil {
		return err
	}
	r, err := sources.OpenRecording(p, args...)
	if err != nil {
		return err
	}
	defer r.Close()
	from, to, err := r.Between(f.from, f.to)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(p, 64<<10)
	line := jsonLines(out, ids)
	if f.format == "csv" {
		line = csvLines(out, ids)
	}
	var unwritten error
	err = r.Readings(from, to, func(x *recording.Reading) error {
		if x.Process == nil || x.Process.JobAllocation() == nil {
			unwritten = line(x)
		}
		return unwritten
	})
	if unwritten == nil && err == nil {
		unwritten = out.Flush()
	}
	return cmp.Or(unwritten, err) // a failed write comes before an error of the recording
}

func (f *exportFlags) ids() (ids []metric.ID, err error) {
	recorded := metric.KeptOf(metric.GPU|metric.Process, metric.Recorded)
	if len(f.metrics) == 0 {
		return recorded, nil
	}
	for _, name := range f.metrics {
		id := metric.Named(name)
		if !slices.Contains(recorded, id) {
			var names []string
			for _, id := range recorded {
				names = append(names, metric.Table[id].Name)
			}
			return nil, command.Usage("--metric: %q is not recorded", text.Clean(name)).Then(text.Wrap("  recorded: "+strings.Join(names, ", "), 78, "          ")...)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// exported is the part of a line before the metrics, with the names of docs/json.md.
type exported struct {
	Time            schema.Time `json:"time"`
	Simulated       bool        `json:"simulated"`
	UUID            schema.Text `json:"uuid"`
	GPUInstance     *uint32     `json:"gpu_instance"`
	ComputeInstance *uint32     `json:"compute_instance"`
	PID             *int        `json:"pid"`
	StartTime       schema.Time `json:"start_time"`
	User            schema.Text `json:"user"`
	Name            schema.Text `json:"name"`
	Command         schema.Text `json:"command"`
}

func exportedOf(r *recording.Reading) exported {
	e := exported{Time: schema.Time(r.Time), Simulated: r.Simulated, UUID: schema.Text(r.GPUUUID)}
	if r.Instance.MIG {
		e.GPUInstance, e.ComputeInstance = &r.Instance.GPU, &r.Instance.Compute
	}
	if p := r.Process; p != nil {
		e.PID, e.StartTime = &p.ID.Process.PID, schema.Time(p.Started)
		e.User, e.Name = schema.Text(text.Clean(p.User)), schema.Text(text.Clean(p.Name))
		e.Command = schema.Text(text.Clean(strings.Join(p.Command, " ")))
	}
	return e
}

func jsonLines(out *bufio.Writer, ids []metric.ID) func(*recording.Reading) error {
	var line []byte
	return func(r *recording.Reading) error {
		head, err := json.Marshal(exportedOf(r))
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		line = append(line[:0], head[:len(head)-1]...)
		subject := metric.GPU // also of an instance
		if r.Process != nil {
			subject = metric.Process
		}
		for _, id := range ids {
			if metric.Table[id].Of&subject == 0 {
				continue
			}
			line = append(append(append(line, `,"`...), metric.Table[id].Name...), `":`...)
			if v, known := r.Value(id); known {
				line = strconv.AppendInt(line, v, 10)
			} else {
				line = append(line, "null"...)
			}
		}
		_, err = out.Write(append(text.EscapeJSON(line), '}', '\n'))
		return err
	}
}

func csvLines(out *bufio.Writer, ids []metric.ID) func(*recording.Reading) error {
	table := csv.NewWriter(out)
	fields := []string{"time", "simulated", "uuid", "gpu_instance", "compute_instance", "pid", "start_time", "user", "name"}
	head := len(fields)
	for _, id := range ids {
		fields = append(fields, metric.Table[id].Name)
	}
	fields = append(fields, "command") // last, so that all other columns keep their positions
	_ = table.Write(fields)            // the writer keeps an error
	table.Flush()
	return func(r *recording.Reading) error {
		e := exportedOf(r)
		clear(fields)
		fields[0], fields[1], fields[2] = r.Time.Format("2006-01-02T15:04:05.000Z07:00"), strconv.FormatBool(e.Simulated), text.SpreadsheetCell(string(e.UUID))
		if e.GPUInstance != nil {
			fields[3], fields[4] = strconv.FormatUint(uint64(*e.GPUInstance), 10), strconv.FormatUint(uint64(*e.ComputeInstance), 10)
		}
		if e.PID != nil {
			fields[5], fields[7], fields[8] = strconv.Itoa(*e.PID), text.SpreadsheetCell(string(e.User)), text.SpreadsheetCell(string(e.Name))
			if started := r.Process.Started; !started.IsZero() {
				fields[6] = started.Format(time.RFC3339)
			}
		}
		for i, id := range ids {
			if v, known := r.Value(id); known {
				fields[head+i] = strconv.FormatInt(v, 10)
			}
		}
		fields[head+len(ids)] = text.SpreadsheetCell(string(e.Command))
		err := table.Write(fields)
		table.Flush()
		return cmp.Or(err, table.Error())
	}
}
