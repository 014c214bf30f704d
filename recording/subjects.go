package recording

import (
	"database/sql"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

func (d *day) writeGPU(now int64, weight time.Duration, g *snapshot.GPU, snap *snapshot.Snapshot) {
	r := d.gpu(now, g)
	r.at = now
	if state := encoded(gpuStateOf(g)); state != r.state {
		r.state = state
		d.exec("INSERT INTO gpu_states VALUES (?, ?, ?, ?)", r.id, d.session, now, state)
		d.exec("UPDATE gpus SET gpu_index = ?, name = ?, pci_bus_id = ?, total_bytes = ?, reserved_bytes = ?, last_ns = ? WHERE gpu = ?",
			g.Index, text.Clean(g.Name), g.PCIBusID, number(g.Memory.Total), number(g.Memory.Reserved), now, r.id)
	}
	for _, id := range snapshot.RecordedOfGPU {
		d.sample(&r.columns[id], id, g.Value(id), r.id, snapshot.InstanceID{}, 0)
	}
	for i := range g.Instances {
		in := &g.Instances[i]
		c := r.instances[in.ID]
		d.sample(&c, metric.Used, in.Memory.Value(metric.Used), r.id, in.ID, 0)
		if c != nil {
			r.instances[in.ID] = c
		}
	}
	if r.sums.ended(now) {
		d.flushGPU(r)
		r.sums.begin(now)
	}
	r.sums.add(weight, g, snap, d.divider.drawn[g.UUID])
}

func (d *day) gpu(now int64, g *snapshot.GPU) *gpuRecord {
	r := d.gpus[g.UUID]
	if r == nil {
		r = &gpuRecord{id: d.gpuID(g.UUID, now), instances: make(map[snapshot.InstanceID]*column)}
		d.gpus[g.UUID] = r
		r.sums.begin(now)
	}
	return r
}

func (d *day) gpuID(uuid string, now int64) int64 {
	uuid = text.Clean(uuid)
	d.exec("INSERT INTO gpus (uuid, first_ns, last_ns) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", uuid, now, now)
	return d.find("SELECT gpu FROM gpus WHERE uuid = ?", uuid)
}

// find reads a single number, 0 if there is no row.
func (d *day) find(query string, args ...any) (id int64) {
	if s := d.statement(query); d.err == nil {
		if err := s.QueryRowContext(ctx, args...).Scan(&id); err != nil && !errors.Is(err, sql.ErrNoRows) {
			d.err = err
		}
	}
	return id
}

func (d *day) writeRow(now int64, weight time.Duration, p *snapshot.Process, part share) {
	r := d.rows[p.ID]
	if r == nil {
		r = &rowRecord{}
		d.rows[p.ID] = r
		d.insertRow(r, now, p)
		r.sums.begin(now)
	} else if r.last != p {
		if !sameNames(r.last, p) {
			d.updateNames(r, p)
		}
		if !sameProcessState(r.last, p) {
			d.exec("INSERT INTO process_states VALUES (?, ?, ?, ?)", r.id, d.session, now, encoded(processStateOf(p, now)))
		}
	}
	r.last, r.at = p, now
	if p.Used.Known() {
		r.used = p.Used
	}
	for _, id := range snapshot.RecordedOfProcess {
		d.sample(&r.columns[id], id, p.Value(id), r.gpu, p.ID.Instance, r.id)
	}
	if r.sums.ended(now) {
		d.flushProcess(r)
		r.sums.begin(now)
	}
	r.sums.add(weight, p, part)
}

const findProcess = `SELECT process FROM processes WHERE pid = ? AND start_time = ? AND pid_namespace = ? AND gpu = ? AND mig_gpu IS ? AND mig_compute IS ?`

// keyColumns returns the values for findProcess, followed by more.
func keyColumns(id snapshot.RowID, gpu any, more ...any) []any {
	migGPU, migCompute := instanceColumns(id.Instance)
	return append([]any{id.Process.PID, int64(id.Process.StartTime), int64(id.Process.Namespace), gpu, migGPU, migCompute}, more...)
}

func (d *day) insertRow(r *rowRecord, now int64, p *snapshot.Process) {
	r.gpu = d.gpuID(p.ID.GPUUUID, now)
	r.id = d.find(findProcess, keyColumns(p.ID, r.gpu)...)
	if r.id == 0 {
		r.id = d.exec(`INSERT INTO processes (pid, start_time, pid_namespace, gpu, mig_gpu, mig_compute, first_ns, last_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			keyColumns(p.ID, r.gpu, now, now)...)
	}
	d.exec("UPDATE processes SET ended_ns = NULL WHERE process = ?", r.id)
	d.updateNames(r, p)
	d.exec("INSERT INTO process_states VALUES (?, ?, ?, ?)", r.id, d.session, now, encoded(processStateOf(p, now)))
}

func (d *day) updateNames(r *rowRecord, p *snapshot.Process) {
	command := process.Program(p.Command)
	if d.fullCommands {
		command = strings.Join(p.Command, " ")
	}
	d.exec(`UPDATE processes SET parent = ?, uid = ?, user = ?, name = ?, command = ?, job_kind = ?, job_id = ?, job_step = ?, job_namespace = ?, job_container = ?, job_account = ?, type = ?, runtime = ?, runtime_version = ?, started_ns = ? WHERE process = ?`,
		orNull(p.Parent), number(p.UID), words(p.User), words(p.Name), words(command), words(p.Job.Kind), words(p.Job.ID),
		words(p.Job.Step), words(p.Job.Namespace), words(p.Job.Container), words(p.Job.Account),
		words(p.Type), words(p.Runtime), words(p.RuntimeVersion), orNull(nanoseconds(p.Started)), r.id)
}

// updateRow records a row's newest time, peak, used memory and counts.
func (d *day) updateRow(r *rowRecord) {
	p := r.last
	d.exec("UPDATE processes SET last_ns = max(last_ns, ?), peak_bytes = max(coalesce(peak_bytes, ?), coalesce(?, peak_bytes)), used_bytes = coalesce(?, used_bytes), out_of_memory_count = coalesce(?, out_of_memory_count), alloc_retries = coalesce(?, alloc_retries) WHERE process = ?",
		r.at, number(p.Peak), number(p.Peak), number(r.used), number(r.sums.outOfMemory), number(r.sums.retries), r.id)
}

// endRows ends the rows and GPUs that are missing at this tick.
func (d *day) endRows(now int64, snap *snapshot.Snapshot) {
	for id, r := range d.rows {
		if r.at == now {
			continue
		}
		d.flushProcess(r)
		var exit snapshot.Int
		ended := now
		if e := snap.EndedRow(id); e != nil {
			exit, ended = e.ExitStatus, e.Ended.UnixNano()
		}
		d.exec("UPDATE processes SET ended_ns = ?, exit_status = ? WHERE process = ?", ended, number(exit), r.id)
		d.exec("INSERT INTO process_states VALUES (?, ?, ?, NULL)", r.id, d.session, now)
		endColumns(slices.Values(r.columns[:]))
		delete(d.rows, id)
	}
	for uuid, r := range d.gpus {
		if r.at == now {
			continue
		}
		d.flushGPU(r)
		d.exec("INSERT INTO gpu_states VALUES (?, ?, ?, NULL)", r.id, d.session, now)
		endColumns(slices.Values(r.columns[:]))
		endColumns(maps.Values(r.instances))
		delete(d.gpus, uuid)
	}
}

func endColumns(columns iter.Seq[*column]) {
	for c := range columns {
		if c != nil {
			c.ended = true
		}
	}
}

func number[T quantity.Bytes | int | int64 | uint32](v quantity.Optional[T]) any {
	if value, ok := v.Value(); ok {
		return int64(value)
	}
	return nil
}

func words(s string) any {
	if s == "" {
		return nil
	}
	return text.Clean(s)
}

func orNull[T int | int64](v T) any {
	if v == 0 {
		return nil
	}
	return int64(v)
}
