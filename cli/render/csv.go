package render

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// JSON writes the document of a snapshot.
func JSON(w io.Writer, snap *snapshot.Snapshot) error {
	encoded, err := schema.Encode(schema.Of(snap))
	if err == nil {
		_, err = w.Write(encoded)
	}
	return err
}

// csvField is one column of the CSV output, of a GPU and perhaps a process on it.
// The columns are JSON fields, those of a GPU prefixed (docs/json.md).
type csvField struct {
	name  string
	value func(snap *snapshot.Snapshot, g *snapshot.GPU, p *snapshot.Process) string
}

// csvFields lists the columns. New metrics, from metric.Fan on, go to the end.
func csvFields() []csvField {
	box := func(name string, of func(s *snapshot.Snapshot) string) csvField {
		return csvField{name, func(s *snapshot.Snapshot, _ *snapshot.GPU, _ *snapshot.Process) string { return of(s) }}
	}
	gpu := func(name string, of func(g *snapshot.GPU) string) csvField {
		return csvField{"gpu_" + name, func(_ *snapshot.Snapshot, g *snapshot.GPU, _ *snapshot.Process) string { return of(g) }}
	}
	process := func(name string, of func(p *snapshot.Process) string) csvField {
		return csvField{name, func(_ *snapshot.Snapshot, _ *snapshot.GPU, p *snapshot.Process) string {
			if p == nil {
				return ""
			}
			return of(p)
		}}
	}
	fields := []csvField{
		box("time", func(s *snapshot.Snapshot) string { return csvTime(s.Time) }),
		box("host", func(s *snapshot.Snapshot) string { return s.Host.Name }),
		box("simulated", func(s *snapshot.Snapshot) string { return strconv.FormatBool(s.Simulated) }),
		gpu("index", func(g *snapshot.GPU) string { return strconv.Itoa(g.Index) }),
		gpu("uuid", func(g *snapshot.GPU) string { return g.UUID }),
		gpu("name", func(g *snapshot.GPU) string { return g.Name }),
		gpu("state", func(g *snapshot.GPU) string { return string(g.State) }),
	}
	gpuMetric := func(id metric.ID) {
		fields = append(fields, gpu(metric.Table[id].Name, func(g *snapshot.GPU) string { return csvNumber(g.Value(id)) }))
	}
	processMetric := func(id metric.ID) {
		fields = append(fields, process(metric.Table[id].Name, func(p *snapshot.Process) string { return csvNumber(p.Value(id)) }))
	}
	for _, id := range []metric.ID{metric.Total, metric.Used, metric.Free, metric.Reserved,
		metric.Utilization, metric.Temperature, metric.Power, metric.PowerLimit} {
		gpuMetric(id)
	}
	fields = append(fields,
		process("pid", func(p *snapshot.Process) string { return strconv.Itoa(p.ID.Process.PID) }),
		process("start_time", func(p *snapshot.Process) string { return csvTime(p.Started) }),
		process("gpu_instance", func(p *snapshot.Process) string { return csvInstance(p, p.ID.Instance.GPU) }),
		process("compute_instance", func(p *snapshot.Process) string { return csvInstance(p, p.ID.Instance.Compute) }),
		process("user", func(p *snapshot.Process) string { return p.User }),
		process("type", func(p *snapshot.Process) string { return p.Type }),
		process("runtime", func(p *snapshot.Process) string { return p.Runtime }))
	for _, id := range []metric.ID{metric.Used, metric.Allocated, metric.Cached, metric.Fragmented, metric.Other,
		metric.Returnable, metric.SMUtilization, metric.CPU, metric.Host} {
		processMetric(id)
	}
	fields = append(fields,
		process("job", func(p *snapshot.Process) string { return p.Job.String() }),
		process("name", func(p *snapshot.Process) string { return p.Name }),
		process("command", func(p *snapshot.Process) string { return strings.Join(p.Command, " ") }))
	for id := metric.Fan; id < metric.Count; id++ {
		gpuMetric(id)
	}
	for _, id := range []metric.ID{metric.MemoryUtilization, metric.EncoderUtilization, metric.DecoderUtilization} {
		processMetric(id)
	}
	return fields
}

// CSV writes a record for each process, and for each GPU without any. Unknown is empty.
func CSV(w io.Writer, snap *snapshot.Snapshot) error {
	var titles []string
	fields := csvFields()
	for _, field := range fields {
		titles = append(titles, field.name)
	}
	records := [][]string{titles}
	for _, pair := range gpusWithRows(snap) {
		record := make([]string, len(fields))
		for i, field := range fields {
			record[i] = text.SpreadsheetCell(field.value(snap, pair.gpu, pair.process))
		}
		if pair.unlisted {
			record[3] = "" // it has no index
		}
		records = append(records, record)
	}
	if err := csv.NewWriter(w).WriteAll(records); err != nil {
		return fmt.Errorf("encode CSV: %w", err)
	}
	return nil
}

// gpuRow is one record: a process with its GPU, or a GPU without processes.
type gpuRow struct {
	gpu      *snapshot.GPU
	process  *snapshot.Process
	unlisted bool // the driver does not list the GPU
}

func gpusWithRows(snap *snapshot.Snapshot) []gpuRow {
	var rows []gpuRow
	listed := make(map[string]bool, len(snap.GPUs))
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		listed[g.UUID] = true
		alone := true
		for p := range snap.GPURows(g.UUID) {
			rows = append(rows, gpuRow{gpu: g, process: p})
			alone = false
		}
		if alone {
			rows = append(rows, gpuRow{gpu: g})
		}
	}
	for j := range snap.Rows {
		if uuid := snap.Rows[j].ID.GPUUUID; !listed[uuid] {
			g := &snapshot.GPU{UUID: uuid, State: schema.Unlisted}
			rows = append(rows, gpuRow{gpu: g, process: &snap.Rows[j], unlisted: true})
		}
	}
	return rows
}

func csvNumber(value snapshot.Float) string {
	v, ok := value.Value()
	if !ok {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func csvTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

func csvInstance(p *snapshot.Process, number uint32) string {
	if !p.ID.Instance.MIG {
		return ""
	}
	return strconv.FormatUint(uint64(number), 10)
}
