package cli

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// csvField is one column of the CSV output, of a GPU and, where there is one,
// a process on it. docs/json.md documents the columns, which are the JSON
// fields; those of a GPU are prefixed.
type csvField struct {
	name string
	of   func(snap *snapshot.Snapshot, g *snapshot.GPU, p *snapshot.Process) string
}

func csvFields() []csvField {
	gpu := func(name string, of func(g *snapshot.GPU) string) csvField {
		return csvField{name, func(_ *snapshot.Snapshot, g *snapshot.GPU, _ *snapshot.Process) string { return of(g) }}
	}
	process := func(name string, of func(p *snapshot.Process) string) csvField {
		return csvField{name, func(_ *snapshot.Snapshot, _ *snapshot.GPU, p *snapshot.Process) string {
			if p == nil {
				return ""
			}
			return of(p)
		}}
	}
	return []csvField{
		{"time", func(s *snapshot.Snapshot, _ *snapshot.GPU, _ *snapshot.Process) string { return csvTime(s.Time) }},
		{"host", func(s *snapshot.Snapshot, _ *snapshot.GPU, _ *snapshot.Process) string { return s.Host.Name }},
		{"simulated", func(s *snapshot.Snapshot, _ *snapshot.GPU, _ *snapshot.Process) string {
			return strconv.FormatBool(s.Simulated)
		}},
		gpu("gpu_index", func(g *snapshot.GPU) string { return strconv.Itoa(g.Index) }),
		gpu("gpu_uuid", func(g *snapshot.GPU) string { return g.UUID }),
		gpu("gpu_name", func(g *snapshot.GPU) string { return g.Name }),
		gpu("gpu_state", func(g *snapshot.GPU) string { return string(g.State) }),
		gpu("gpu_total_bytes", func(g *snapshot.GPU) string { return csvBytes(g.Memory.Total) }),
		gpu("gpu_used_bytes", func(g *snapshot.GPU) string { return csvBytes(g.Memory.Used) }),
		gpu("gpu_free_bytes", func(g *snapshot.GPU) string { return csvBytes(g.Memory.Free) }),
		gpu("gpu_reserved_bytes", func(g *snapshot.GPU) string { return csvBytes(g.Memory.Reserved) }),
		gpu("gpu_utilization_percent", func(g *snapshot.GPU) string { return csvInt(g.Utilization) }),
		gpu("gpu_temperature_celsius", func(g *snapshot.GPU) string { return csvInt(g.Temperature) }),
		gpu("gpu_power_watts", func(g *snapshot.GPU) string { return csvFloat(schema.Finite(g.Power)) }),
		gpu("gpu_power_limit_watts", func(g *snapshot.GPU) string { return csvFloat(schema.Finite(g.PowerLimit)) }),
		process("pid", func(p *snapshot.Process) string { return strconv.Itoa(p.ID.Process.PID) }),
		process("start_time", func(p *snapshot.Process) string { return csvTime(p.Started) }),
		process("gpu_instance", func(p *snapshot.Process) string { return csvInstance(p, p.ID.Instance.GPU) }),
		process("compute_instance", func(p *snapshot.Process) string { return csvInstance(p, p.ID.Instance.Compute) }),
		process("user", func(p *snapshot.Process) string { return p.User }),
		process("type", func(p *snapshot.Process) string { return p.Type }),
		process("runtime", func(p *snapshot.Process) string { return p.Runtime }),
		process("used_bytes", func(p *snapshot.Process) string { return csvBytes(p.Used) }),
		process("allocated_bytes", func(p *snapshot.Process) string { return csvBytes(p.Allocated) }),
		process("cached_bytes", func(p *snapshot.Process) string { return csvBytes(p.Cached) }),
		process("fragmented_bytes", func(p *snapshot.Process) string { return csvBytes(p.Fragmented) }),
		process("other_bytes", func(p *snapshot.Process) string { return csvBytes(p.Other) }),
		process("returnable_bytes", func(p *snapshot.Process) string { return csvBytes(p.Returnable) }),
		process("sm_utilization_percent", func(p *snapshot.Process) string { return csvInt(p.SMUtilization) }),
		process("cpu_percent", func(p *snapshot.Process) string { return csvFloat(schema.Tenths(p.CPU)) }),
		process("host_bytes", func(p *snapshot.Process) string { return csvBytes(p.Host) }),
		process("job", func(p *snapshot.Process) string { return p.Job.String() }),
		process("name", func(p *snapshot.Process) string { return p.Name }),
		process("command", func(p *snapshot.Process) string { return strings.Join(p.Command, " ") }),
	}
}

// writeCSV writes one record for each process, and one for each GPU without
// any. Unknown is the empty field.
func writeCSV(w io.Writer, snap *snapshot.Snapshot) error {
	fields := csvFields()
	record := make([]string, len(fields))
	for i, field := range fields {
		record[i] = field.name
	}
	var buf bytes.Buffer
	out := csv.NewWriter(&buf)
	write := func() error {
		if err := out.Write(record); err != nil {
			return fmt.Errorf("encode CSV: %w", err)
		}
		return nil
	}
	if err := write(); err != nil {
		return err
	}
	for _, pair := range gpusWithRows(snap) {
		for i, field := range fields {
			record[i] = text.Clean(field.of(snap, pair.gpu, pair.process))
		}
		if pair.unlisted {
			record[3] = "" // no driver has given it an index
		}
		if err := write(); err != nil {
			return err
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("encode CSV: %w", err)
	}
	_, err := w.Write(buf.Bytes())
	return err
}

// gpuRow is one record: a process with its GPU, or a GPU with nobody on it.
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

func csvBytes(b snapshot.Bytes) string {
	v, ok := b.Value()
	if !ok {
		return ""
	}
	return strconv.FormatInt(int64(v), 10)
}

func csvInt(i snapshot.Int) string {
	v, ok := i.Value()
	if !ok {
		return ""
	}
	return strconv.Itoa(v)
}

func csvFloat(f snapshot.Float) string {
	v, ok := f.Value()
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
