package recording

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/store"
)

// Reading is what was recorded at a tick of a GPU, of a MIG instance (Instance.MIG)
// or of a process.
type Reading struct {
	Time      time.Time
	Simulated bool
	GPUUUID   string
	Instance  snapshot.InstanceID
	Process   *ProcessRow // nil for a GPU or an instance
	figures   *values
}

// Value is a metric in its unit, false where it was unknown.
func (r *Reading) Value(id metric.ID) (int64, bool) { return r.figures.value[id], r.figures.known[id] }

// Readings visits all readings recorded in [from, to), by time; at each tick GPUs
// come first, then instances, then processes. An error of visit ends it. A damaged day
// is read up to the damage, which Problems reports.
func (r *Recording) Readings(from, to time.Time, visit func(*Reading) error) error {
	for _, path := range r.between(from, to) {
		d, err := r.day(path)
		if err == nil {
			err = d.readings(from.UnixNano(), to.UnixNano(), visit)
		}
		if err = r.unless(path, err); err != nil {
			return fmt.Errorf("recording: %s: %w", path, err)
		}
	}
	return nil
}

func (d *dayReader) readings(from, to int64, visit func(*Reading) error) error {
	uuids, err := d.uuids()
	if err != nil {
		return err
	}
	processes, err := d.processes()
	if err != nil {
		return err
	}
	sessions := d.sessions()
	for i, s := range slices.Backward(sessions) {
		begin, end := max(from, s.from), to
		for _, later := range sessions[:i] { // a later one counts
			end = min(end, later.from)
		}
		w := walk{from: begin, to: end, session: s, uuids: uuids, processes: processes, visit: visit}
		if begin >= end {
			continue
		}
		if err := d.walk(&w); err != nil {
			return err
		}
	}
	return nil
}

// walk is the way through a session.
type walk struct {
	session
	from, to  int64
	uuids     map[int64]string
	processes map[int64]*ProcessRow
	visit     func(*Reading) error
}

func (d *dayReader) walk(w *walk) error {
	tail := d.tailOf(w.id) // read first: what is sealed meanwhile comes with the chunks
	sealed := int64(0)
	var blocks []int64
	err := each(ctx, d.db, func(rows *sql.Rows) error {
		var from int64
		err := rows.Scan(&from)
		blocks = append(blocks, from)
		return err
	}, "SELECT from_ns FROM ticks WHERE session = ? AND from_ns < ? AND to_ns >= ? ORDER BY from_ns", w.id, w.to, w.from)
	if err != nil {
		return err
	}
	for _, from := range blocks {
		var codec int64
		var data []byte
		if err := row(ctx, d.db, []any{&codec, &data}, "SELECT codec, data FROM ticks WHERE session = ? AND from_ns = ?", w.id, from); err != nil {
			return err
		}
		times, err := decodeTicks(codec, w.id, from, data)
		if err != nil {
			d.problem(err)
			continue // a gap
		}
		columns, err := d.columnsOf(w.id, from)
		if err != nil {
			return err
		}
		if err := w.ticks(times, columns); err != nil {
			return err
		}
		if len(times) > 0 {
			sealed = times[len(times)-1]
		}
	}
	if tail == nil {
		return nil
	}
	var columns []readColumn
	for _, c := range tail.block.columns {
		columns = append(columns, readColumn{d.seriesOf(c.series), c.Block})
	}
	w.from = max(w.from, sealed+1)
	return w.ticks(tail.block.times[:tail.block.n], columns)
}

// readColumn is a series in a block.
type readColumn struct {
	series seriesOf
	store.Block
}

// columnsOf returns the columns of a block. The database of an older version has one connection, so
// their series are looked up once the rows are read.
func (d *dayReader) columnsOf(session, from int64) (columns []readColumn, err error) {
	var ids []int64
	err = each(ctx, d.db, func(rows *sql.Rows) error {
		var series, codec int64
		var data sql.RawBytes
		if err := rows.Scan(&series, &codec, &data); err != nil {
			return err
		}
		var c readColumn
		if err := decodeChunk(&c.Block, codec, series, from, data); err != nil {
			d.problem(err) // a gap
			return nil
		}
		columns, ids = append(columns, c), append(ids, series)
		return nil
	}, "SELECT c.series, c.codec, c.data FROM chunks c JOIN series s ON s.series = c.series WHERE c.from_ns = ? AND s.session = ?", from, session)
	for i, id := range ids {
		columns[i].series = d.seriesOf(id)
	}
	return columns, err
}

// ticks visits the readings of a block.
func (w *walk) ticks(times []int64, columns []readColumn) error {
	columns = slices.DeleteFunc(columns, func(c readColumn) bool { return c.series.metric == metric.Count })
	slices.SortStableFunc(columns, func(a, b readColumn) int { return a.series.compare(b.series) })
	for i, t := range times {
		if t < w.from || t >= w.to {
			continue
		}
		for rest := columns; len(rest) > 0; {
			series := rest[0].series
			n := slices.IndexFunc(rest, func(c readColumn) bool { return c.series.compare(series) != 0 })
			if n < 0 {
				n = len(rest)
			}
			if r := w.reading(t, i, rest[:n]); r != nil {
				if err := w.visit(r); err != nil {
					return err
				}
			}
			rest = rest[n:]
		}
	}
	return nil
}

// reading is that of place i of a subject's columns, nil where it was not there.
func (w *walk) reading(t int64, i int, columns []readColumn) *Reading {
	subject, there := columns[0].series, false
	r := &Reading{Time: moment(t), Simulated: w.simulated, GPUUUID: w.uuids[subject.gpu], Instance: subject.instance, figures: new(values)}
	if p := w.processes[subject.process]; p != nil {
		r.Process, r.GPUUUID, r.Instance = p, p.ID.GPUUUID, p.ID.Instance
	}
	for j := range columns {
		id := columns[j].series.metric
		r.figures.value[id], r.figures.known[id] = columns[j].At(i)
		there = there || r.figures.known[id]
	}
	if !there {
		return nil
	}
	return r
}

// compare orders the subjects of series, without their metrics.
func (s seriesOf) compare(other seriesOf) int {
	return cmp.Or(cmp.Compare(s.process, other.process), cmp.Compare(s.gpu, other.gpu),
		cmp.Compare(s.instance.GPU, other.instance.GPU), cmp.Compare(s.instance.Compute, other.instance.Compute))
}
