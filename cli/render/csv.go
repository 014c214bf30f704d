package render

import (
	"cmp"
	"encoding/csv"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// csvCell is a column's name and its value in a record. The columns are named for JSON fields;
// those of a GPU have a prefix (docs/json.md).
type csvCell struct{ name, value string }

// csvCells returns one record, of a GPU and perhaps a process on it. Newer columns come after the command.
func csvCells(s *snapshot.Snapshot, row *gpuRow) []csvCell {
	g, p := row.gpu, cmp.Or(row.process, &snapshot.Process{})
	index, pid := strconv.Itoa(g.Index), strconv.Itoa(p.ID.Process.PID)
	if row.unlisted {
		index = ""
	}
	if row.process == nil {
		pid = ""
	}
	cells := []csvCell{
		{"time", csvTime(s.Time)}, {"host", s.Host.Name}, {"simulated", strconv.FormatBool(s.Simulated)},
		{"gpu_index", index}, {"gpu_uuid", g.UUID}, {"gpu_name", g.Name}, {"gpu_state", string(g.State)},
	}
	ofGPU := func(id metric.ID) {
		cells = append(cells, csvCell{"gpu_" + metric.Table[id].Name, csvNumber(g.Value(id))})
	}
	ofProcess := func(ids ...metric.ID) {
		for _, id := range ids {
			cells = append(cells, csvCell{metric.Table[id].Name, csvNumber(p.Value(id))})
		}
	}
	for _, id := range []metric.ID{metric.Total, metric.Used, metric.Free, metric.Reserved,
		metric.Utilization, metric.Temperature, metric.Power, metric.PowerLimit} {
		ofGPU(id)
	}
	cells = append(cells, csvCell{"pid", pid}, csvCell{"start_time", csvTime(p.Started)},
		csvCell{"gpu_instance", csvInstance(p, p.ID.Instance.GPU)}, csvCell{"compute_instance", csvInstance(p, p.ID.Instance.Compute)},
		csvCell{"user", p.User}, csvCell{"type", p.Type}, csvCell{"runtime", p.Runtime})
	ofProcess(metric.Used, metric.Allocated, metric.Cached, metric.Fragmented, metric.Other,
		metric.Returnable, metric.SMUtilization, metric.CPU, metric.Host)
	cells = append(cells, csvCell{"job", p.Job.String()}, csvCell{"name", p.Name}, csvCell{"command", strings.Join(p.Command, " ")})
	for id := metric.Fan; id < metric.Count; id++ {
		ofGPU(id)
	}
	ofProcess(metric.MemoryUtilization, metric.EncoderUtilization, metric.DecoderUtilization)
	return cells
}

// CSV returns titles, a record for each process on a GPU, and one for each GPU without processes. Unknown is empty.
func CSV(snap *snapshot.Snapshot) string {
	var titles []string
	for _, cell := range csvCells(snap, &gpuRow{gpu: &snapshot.GPU{}}) {
		titles = append(titles, cell.name)
	}
	records := [][]string{titles}
	for _, row := range gpusWithRows(snap) {
		var record []string
		for _, cell := range csvCells(snap, &row) {
			record = append(record, text.SpreadsheetCell(cell.value))
		}
		records = append(records, record)
	}
	var out strings.Builder
	_ = csv.NewWriter(&out).WriteAll(records) // a Builder returns no error
	return out.String()
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
