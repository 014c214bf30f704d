package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"vramscope/fleet"
	"vramscope/headroom"
	"vramscope/internal/text"
	"vramscope/schema"
)

func (p *program) fleetHeadroom(f *fleetFlags) *cobra.Command {
	var h headroomFlags
	cmd := &cobra.Command{
		Use:   "headroom --need SIZE",
		Short: "which boxes have room for a job (exit code)",
		Long: `Names boxes with at least --count GPUs that have SIZE free each, for scripts and
schedulers: by its exit code, and by a line for each box.

  0  yes, on the boxes that are named
  3  no
  4  only after a flush of the processes there

SIZE is everything that the job will use on a GPU. A GPU under MIG does not
count: its instances have its memory.`,
		Example: `  vramscope fleet headroom --prometheus http://prometheus:9090 --need 40GiB --count 8
  vramscope fleet headroom --ssh h100-01,h100-02 --need 20GiB --format json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.runFleetHeadroom(cmd.Context(), f, h) },
	}
	flags := cmd.Flags()
	flags.StringVar(&h.need, "need", "", "how much the job will use on a GPU: 40GiB")
	flags.IntVar(&h.count, "count", 1, "it needs so many GPUs of one box")
	choiceFlag(cmd, &h.format, "format", "f", "table", "json")
	nameValues(cmd, map[string]string{"need": "SIZE", "count": "NUMBER"})
	return cmd
}

// mostRoomyBoxes is how many boxes are named.
const mostRoomyBoxes = 50

func (p *program) runFleetHeadroom(ctx context.Context, f *fleetFlags, h headroomFlags) error {
	s, err := p.settings()
	if err != nil {
		return err
	}
	question, err := h.question(s.Interval)
	if err != nil {
		return err
	}
	filter, err := fleet.ParseFilter(f.filter)
	if err != nil {
		return usage("--filter: %v", err)
	}
	if filter.ByState() {
		return usage("--filter: headroom takes no state=: it asks what is free, whatever the state")
	}
	source, name, end, err := f.source(ctx, p.now)
	if err != nil {
		return err
	}
	defer end()
	settle(ctx, source)
	rooms, ok := source.(fleet.Rooms)
	if !ok {
		return &failure{code: exitFailure, message: name + " cannot say where there is room"}
	}
	q := fleet.RoomQuery{Need: question.Need, Count: question.Count, Filter: filter, Boxes: mostRoomyBoxes}
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
	if err := p.printAs(h.format, roomDocument(name, &q, &r, verdict), roomTable(&q, &r, verdict, p.glyphs(&s), p.outputWidth())); err != nil {
		return err
	}
	switch verdict {
	case headroom.Yes:
		return nil
	case headroom.AfterFlush:
		return &silent{exitAfterFlush}
	case headroom.No:
		return &silent{exitNoRoom}
	default:
		return &failure{code: exitFailure, message: unjudged(&q, &r)}
	}
}

// unjudged is why no GPU could be judged.
func unjudged(q *fleet.RoomQuery, r *fleet.Room) string {
	switch {
	case r.Matched > 0:
		return "no GPU could be judged: each is under MIG, or its free memory is unknown"
	case len(q.Filter) > 0:
		return "no GPU matches --filter " + text.Clean(q.Filter.String())
	default:
		return "no box reports a GPU"
	}
}

func roomTable(q *fleet.RoomQuery, r *fleet.Room, verdict headroom.Verdict, signs glyphs, width int) string {
	what := fmt.Sprintf("%s on %s of one box", q.Need, text.Plural(q.Count, "GPU", "GPUs"))
	sentence := map[headroom.Verdict]string{
		headroom.Yes: "yes: " + what, headroom.AfterFlush: "after a flush: " + what, headroom.No: "no: " + what, headroom.Unknown: "unknown: " + unjudged(q, r),
	}[verdict]
	var lines []string
	if r.Simulated {
		lines = append(lines, "SIMULATED")
	}
	lines = append(lines, sentence)
	g := grid{columns: []column{{"BOX", false, 8}, {"GPUS", true, 4}, {"FITS", false, 5}}}
	for i, boxes := range [][]fleet.RoomyBox{r.Now, r.AfterFlush} {
		for _, b := range boxes {
			g.rows = append(g.rows, []string{oneWord(b.Name), strconv.Itoa(b.GPUs), [...]string{"yes", "flush"}[i]})
		}
	}
	if len(g.rows) > 0 {
		lines = append(append(lines, ""), g.lines()...)
	}
	for _, problem := range r.Problems {
		lines = append(lines, "! "+text.Clean(problem))
	}
	return cutLines(lines, width, signs.ellipsis)
}

func roomDocument(name string, q *fleet.RoomQuery, r *fleet.Room, verdict headroom.Verdict) schema.FleetHeadroom {
	doc := schema.FleetHeadroom{
		Schema: schema.FleetVersion, Time: schema.Time(r.Time), Source: schema.Text(name), Simulated: r.Simulated, NeedBytes: q.Need, Count: q.Count,
		Answer: string(verdict), GPUsJudged: r.Judged, Boxes: []schema.FleetRoom{}, Problems: schema.Texts(r.Problems),
	}
	for i, boxes := range [][]fleet.RoomyBox{r.Now, r.AfterFlush} {
		for _, b := range boxes {
			doc.Boxes = append(doc.Boxes, schema.FleetRoom{Box: schema.Text(b.Name), Target: schema.Text(b.Box), GPUs: b.GPUs, Verdict: string([...]headroom.Verdict{headroom.Yes, headroom.AfterFlush}[i])})
		}
	}
	return doc
}
