package recording

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// At rebuilds the snapshot at or just before t. In a gap it returns the last snapshot before the
// gap, with that snapshot's own time.
func (r *Recording) At(t time.Time) (*snapshot.Snapshot, bool) {
	for _, path := range slices.Backward(r.between(time.Time{}, t)) {
		d, err := r.day(path)
		if err != nil {
			continue
		}
		if then, ok := d.at(t); ok {
			return then, true
		}
	}
	return nil, false
}

type session struct {
	id, from  int64
	simulated bool
}

// sessions returns the day's sessions, newest first. They overlap if the clock was set back.
func (d *dayReader) sessions() []session {
	var all []session
	d.each(collect(&all, func(s *session) []any { return []any{&s.id, &s.from, &s.simulated} }),
		"SELECT session, from_ns, simulated FROM sessions ORDER BY session DESC")
	return all
}

type figures struct {
	session
	time     int64
	gpus     map[int64]*values
	rows     map[int64]*values
	instance map[instanceKey]int64
}

type values struct {
	known [metric.Count]bool
	value [metric.Count]int64
}

func (v *values) at(id metric.ID) snapshot.Float {
	if v == nil || !v.known[id] {
		return snapshot.Float{}
	}
	return quantity.From(float64(v.value[id]), metric.Table[id].Source)
}

// eachSession visits the sessions of [from, to), oldest first. A session ends where a newer one begins.
func (d *dayReader) eachSession(from, to int64, visit func(s session, begin, end int64) error) error {
	sessions := d.sessions()
	for i, s := range slices.Backward(sessions) {
		begin, end := max(from, s.from), to
		for _, later := range sessions[:i] {
			end = min(end, later.from)
		}
		if begin < end {
			if err := visit(s, begin, end); err != nil {
				return err
			}
		}
	}
	return nil
}

type instanceKey struct {
	gpu int64
	id  snapshot.InstanceID
}

type seriesOf struct {
	metric   metric.ID
	gpu      int64
	instance snapshot.InstanceID
	process  int64
}

const seriesColumns = "s.metric, s.gpu, s.process, s.mig_gpu, s.mig_compute"

// scan reads seriesColumns, after other columns.
func (s *seriesOf) scan(rows *sql.Rows, before ...any) error {
	var name string
	err := rows.Scan(slices.Concat(before, []any{&name, integer(&s.gpu), integer(&s.process)}, instance(&s.instance))...)
	s.metric = metric.Named(name)
	return err
}

func newFigures() figures {
	return figures{gpus: make(map[int64]*values), rows: make(map[int64]*values), instance: make(map[instanceKey]int64)}
}

// instancesOf returns a function that gives the used memory of a GPU's instances.
func (f *figures) instancesOf(gpu int64) func(snapshot.InstanceID) snapshot.Float {
	return func(in snapshot.InstanceID) snapshot.Float {
		v, known := f.instance[instanceKey{gpu, in}]
		if !known {
			return snapshot.Float{}
		}
		return quantity.From(float64(v), quantity.Driver)
	}
}

// add adds a sample. An unknown sample still adds its GPU or process.
func (f *figures) add(s seriesOf, v int64, known bool) {
	byID, id := f.gpus, s.gpu
	switch {
	case s.metric == metric.Count:
		return
	case s.process != 0:
		byID, id = f.rows, s.process
	case s.instance.MIG:
		if known {
			f.instance[instanceKey{s.gpu, s.instance}] = v
		}
		return
	}
	if byID[id] == nil {
		byID[id] = new(values)
	}
	byID[id].known[s.metric], byID[id].value[s.metric] = known, v
}

// at rebuilds the snapshot at t. It returns false if the day has no readable tick at or before t.
func (d *dayReader) at(t time.Time) (*snapshot.Snapshot, bool) {
	f, ok := d.figures(t.UnixNano())
	if !ok {
		return nil, false
	}
	then := &snapshot.Snapshot{Time: t, Past: true, Simulated: f.simulated, Sequence: uint64(f.time)}
	var box boxState
	var state string
	d.row([]any{word(&state)}, "SELECT state FROM box_states WHERE session = ? AND from_ns <= ? ORDER BY from_ns DESC LIMIT 1", f.id, f.time)
	_ = json.Unmarshal([]byte(state), &box) // an unreadable state is unknown
	box.restore(then)
	if gap := t.UnixNano() - f.time; gap > int64(3*max(then.Interval, time.Second)) {
		then.Time = moment(f.time)
	}
	gpus := d.gpusAt(&f)
	then.Rows = d.rowsAt(&f)
	held := takeAllocations(then)
	snapshot.SortRows(then.Rows)
	for id, g := range gpus {
		g.SetFigures(then.Rows, f.gpus[id].at, f.instancesOf(id))
		g.Allocation = held[g.UUID]
		then.GPUs = append(then.GPUs, g)
	}
	sorted.Stable(then.GPUs, func(a, b snapshot.GPU) int { return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.UUID, b.UUID)) })
	then.Ended = d.endedAt(&f)
	then.Alerts = d.alertsAt(f.time)
	return then, true
}

// takeAllocations removes from a snapshot the rows that stand for a job's allocation, and returns
// the allocations by GPU UUID.
func takeAllocations(then *snapshot.Snapshot) map[string]*snapshot.JobAllocation {
	held := make(map[string]*snapshot.JobAllocation)
	then.Rows = slices.DeleteFunc(then.Rows, func(p snapshot.Process) bool {
		a := p.JobAllocation()
		if a != nil {
			held[p.ID.GPUUUID] = a
		}
		return a != nil
	})
	return held
}

// figures returns the samples at the last tick at or before t.
func (d *dayReader) figures(t int64) (f figures, ok bool) {
	f = newFigures()
	for _, s := range d.sessions() {
		if s.from <= t {
			f.session, ok = s, true
			break
		}
	}
	if !ok {
		return f, false
	}
	var times []int64
	var columns []readColumn
	var err error
	if tail := d.tailOf(f.id); tail != nil && tail.block.n > 0 && tail.block.times[0] <= t {
		times = tail.block.times[:tail.block.n]
		columns, err = d.tailColumns(tail)
	} else {
		var blocks []tickBlock // the newest readable block is used; up to four are read in case some are damaged
		if blocks, err = d.ticksOf(f.id, "from_ns <= ? ORDER BY from_ns DESC LIMIT 4", t); len(blocks) > 0 {
			times = blocks[0].times
			columns, err = d.columnsOf(f.id, blocks[0].from)
		}
	}
	d.problem(err)
	if len(times) == 0 {
		return f, false
	}
	i := lastAt(times, t)
	f.time = times[i]
	for _, c := range columns {
		v, known := c.At(i)
		f.add(c.series, v, known)
	}
	return f, true
}

// lastAt returns the index of the last time at or before t, 0 if there is none.
func lastAt(times []int64, t int64) int {
	i, found := slices.BinarySearch(times, t)
	if !found && i > 0 {
		i--
	}
	return i
}

func (d *dayReader) gpusAt(f *figures) map[int64]snapshot.GPU {
	gpus := make(map[int64]snapshot.GPU)
	d.each(func(rows *sql.Rows) error {
		var id int64
		var uuid string
		var text sql.NullString
		if err := rows.Scan(&id, &uuid, &text); err != nil {
			return err
		}
		var state gpuState
		if json.Unmarshal([]byte(text.String), &state) == nil {
			gpus[id] = state.restore(uuid)
		}
		return nil
	}, `SELECT g.gpu, g.uuid, (SELECT state FROM gpu_states WHERE gpu = g.gpu AND session = ? AND from_ns <= ? ORDER BY from_ns DESC LIMIT 1) FROM gpus g`, f.id, f.time)
	return gpus
}

func (d *dayReader) rowsAt(f *figures) []snapshot.Process {
	var all []snapshot.Process
	d.each(func(rows *sql.Rows) error {
		var text sql.NullString
		var r ProcessRow
		err := scanProcess(rows, &r, &text)
		var state processState
		if err != nil || json.Unmarshal([]byte(text.String), &state) != nil {
			return err // the process was not there at this tick
		}
		p := &r.Process
		state.restore(p, f.time)
		p.Peak = snapshot.Bytes{} // the recorded peak may be from a later time
		p.SetFigures(f.rows[r.key].at)
		all = append(all, *p)
		return nil
	}, "SELECT "+processColumns+`, (SELECT state FROM process_states WHERE process = p.process AND session = ? AND from_ns <= ? ORDER BY from_ns DESC LIMIT 1)
		FROM json_each(?) ids JOIN processes p ON p.process = ids.value`, f.id, f.time, encoded(slices.Collect(maps.Keys(f.rows))))
	return all
}

// endedAt returns the processes that had ended, newest first, as many as a snapshot holds.
func (d *dayReader) endedAt(f *figures) []snapshot.EndedProcess {
	const keep, maxEnded = 3 * time.Hour, 200
	var all []snapshot.EndedProcess
	d.each(func(rows *sql.Rows) error {
		var r ProcessRow
		err := scanProcess(rows, &r)
		all = append(all, snapshot.EndedProcess{Last: r.Process, Ended: r.Ended, OutOfMemoryCount: r.OutOfMemoryCount, ExitStatus: r.ExitStatus})
		return err
	}, "SELECT "+processColumns+" FROM processes p WHERE pid != 0 AND ended_ns <= ? AND ended_ns > ? ORDER BY ended_ns DESC LIMIT ?", f.time, f.time-int64(keep), maxEnded)
	return all
}
