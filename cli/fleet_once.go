package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"vramscope/fleet"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
	"vramscope/ui/cell"
)

func (p *program) fleetOnce(f *fleetFlags) *cobra.Command {
	var format string
	var lines int
	cmd := &cobra.Command{
		Use:   "once",
		Short: "the worst lines of the fleet and its sums: a table or JSON",
		Long: `Writes the worst GPUs, or with --boxes the worst boxes, and the sums of the
fleet, and ends. The JSON has the schema "vramscope/fleet/1".`,
		Example: `  vramscope fleet once --prometheus http://prometheus:9090 --boxes
  vramscope fleet once --prometheus http://prometheus:9090 --format json | jq .totals`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if lines < 1 || lines > mostFleetLines {
				return usage("--lines: %d is out of range: 1 to %d", lines, mostFleetLines)
			}
			return p.runFleetOnce(cmd.Context(), f, format, lines)
		},
	}
	choiceFlag(cmd, &format, "format", "f", "table", "json")
	f.addBoxes(cmd)
	cmd.Flags().IntVar(&lines, "lines", usualFleetLines, "at most so many lines")
	nameValues(cmd, map[string]string{"lines": "NUMBER"})
	return cmd
}

const usualFleetLines, mostFleetLines = 50, 10000

// runFleetOnce asks for lines and sums side by side.
func (p *program) runFleetOnce(ctx context.Context, f *fleetFlags, format string, lines int) error {
	s, err := p.settings()
	if err != nil {
		return err
	}
	q, err := f.query(lines, lines)
	if err != nil {
		return err
	}
	source, name, end, err := f.source(ctx, p.now)
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
	doc := fleetDocument(name, pic, &totals)
	return p.printAs(format, doc, fleetTable(pic, &totals, q.Filter, p.glyphs(&s), p.outputWidth()))
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
	return &failure{code: exitFailure, err: err, message: text.Clean(name + ": " + err.Error())}
}

// fleetTable is the fleet in text: no blank in a cell but in the last column.
func fleetTable(pic *fleet.Picture, t *fleet.Totals, filter fleet.Filter, signs glyphs, width int) string {
	g := grid{columns: []column{{"BOX", false, 8}, {"GPU", true, 3}, {"USED", true, 5}, {"TOTAL", true, 5}, {"FREE", true, 5}, {"ALLOC", true, 5}, {"FLUSH", true, 5}, {"UTIL", true, 4}, {"STATE", false, 5}, {"NOTE", false, 0}}}
	for i := range pic.Lines {
		l := &pic.Lines[i]
		gpu := signs.dash
		if l.GPU.Index >= 0 {
			gpu = strconv.Itoa(l.GPU.Index)
		} else if l.GPUs > 0 && l.GPU.UUID == "" {
			gpu = strconv.Itoa(l.GPUs) + "x"
		}
		g.rows = append(g.rows, []string{
			oneWord(l.Name()), gpu, signs.bytes(l.GPU.Memory.Used), signs.bytes(l.GPU.Memory.Total), signs.bytes(l.GPU.Memory.Free),
			signs.bytes(l.GPU.Parts.Allocated), signs.bytes(l.GPU.Parts.Returnable), string(cell.AppendPercent(nil, l.GPU.Utilization, signs.dash)),
			l.StateWord(), fleetNote(l),
		})
	}
	var lines []string
	if pic.Simulated {
		lines = append(lines, "SIMULATED")
	}
	lines = append(lines, fleetSums(t, signs), "")
	switch {
	case len(g.rows) > 0:
		lines = append(lines, g.lines()...)
	case len(filter) > 0:
		lines = append(lines, "nothing matches --filter "+text.Clean(filter.String()))
	default:
		lines = append(lines, "no GPU")
	}
	for _, problem := range pic.Problems {
		lines = append(lines, "! "+text.Clean(problem))
	}
	return cutLines(lines, width, signs.ellipsis)
}

// fleetSums is the fleet in a sentence.
func fleetSums(t *fleet.Totals, signs glyphs) string {
	count := func(n snapshot.Int) string { return string(cell.AppendInt(nil, n.Or(0))) }
	boxes, gpus := signs.dash, signs.dash
	if t.Boxes.Known() {
		boxes = count(t.Boxes)
	}
	if t.GPUs.Known() {
		gpus = count(t.GPUs)
	}
	s := fmt.Sprintf("%s boxes, %s down, %s GPUs: %s of %s used", boxes, count(t.Down), gpus, signs.bytes(t.Memory.Used), signs.bytes(t.Memory.Capacity()))
	return s + fmt.Sprintf(", %s allocated, %s cached", signs.bytes(t.Parts.Allocated), signs.bytes(t.Parts.Returnable))
}

// fleetNote is the worst there is to say of a line, else who is there.
func fleetNote(l *fleet.Line) string {
	switch {
	case l.State != fleet.OK:
		return text.Clean(l.Why)
	case l.Alert == snapshot.AlertFullIn && l.GPU.FullIn != nil:
		return "full in " + cell.UntilFull(*l.GPU.FullIn)
	case l.Alert != "":
		return strings.ReplaceAll(text.Clean(string(l.Alert)), "_", " ")
	}
	return strings.TrimSpace(text.Clean(l.User + " " + l.Program))
}

func fleetDocument(name string, pic *fleet.Picture, t *fleet.Totals) schema.Fleet {
	doc := schema.Fleet{
		Schema: schema.FleetVersion, Time: schema.Time(pic.Time), Source: schema.Text(name), Simulated: pic.Simulated,
		Totals: schema.FleetTotals{Boxes: t.Boxes, BoxesDown: t.Down, GPUs: t.GPUs, Memory: schema.MemoryOf(t.Memory), AllocatedBytes: t.Parts.Allocated, FragmentedBytes: t.Parts.Fragmented, ReturnableBytes: t.Parts.Returnable},
		Lines:  []schema.FleetLine{}, Problems: schema.Texts(pic.Problems),
	}
	for i := range pic.Lines {
		l := &pic.Lines[i]
		g := &l.GPU
		line := schema.FleetLine{
			Box: schema.Text(l.Name()), Target: schema.Text(l.Box), UUID: schema.Text(g.UUID), Name: schema.Text(g.Name), GPUs: l.GPUs, State: l.StateWord(),
			Reason: schema.Text(l.Why), Memory: schema.MemoryOf(g.Memory), AllocatedBytes: g.Parts.Allocated, FragmentedBytes: g.Parts.Fragmented,
			ReturnableBytes: g.Parts.Returnable, UtilizationPercent: g.Utilization, TemperatureCelsius: g.Temperature, PowerWatts: g.Power,
			FullIn: schema.FullInOf(g.FullIn), Alert: schema.Text(l.Alert), User: schema.Text(l.User), Program: schema.Text(l.Program), Job: schema.Text(l.Job),
		}
		if g.Index >= 0 {
			line.GPU = &g.Index
		}
		if l.Alert != "" {
			line.Severity = schema.Text(schema.SeverityOf(l.Severity))
		}
		doc.Lines = append(doc.Lines, line)
	}
	return doc
}
