package recording

import (
	"cmp"
	"database/sql"
	"slices"
	"time"

	"vramscope/internal/sorted"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/store"
)

// Reading holds what was recorded of a GPU, a MIG instance (Instance.MIG) or a process at one tick.
type Reading struct {
	Time      time.Time
	Simulated bool
	GPUUUID   string
	Instance  snapshot.InstanceID
	Process   *ProcessRow // nil for a GPU or an instance
	figures   *values
}

// Value returns a metric in its unit, false if unknown.
func (r *Reading) Value(id metric.ID) (int64, bool) { return r.figures.value[id], r.figures.known[id] }

// Readings visits all readings recorded in [from, to), by time. At each tick each GPU is followed
// by its instances, and the processes come last. Readings returns the first error of visit. It skips
// the unreadable part of a damaged day, which Problems reports.
func (r *Recording) Readings(from, to time.Time, visit func(*Reading) error) error {
	return r.ticks(from, to, func(w *walk, t int64, i int, columns []readColumn) error {
		for len(columns) > 0 {
			series := columns[0].series
			n := slices.IndexFunc(columns, func(c readColumn) bool { return c.series.compare(series) != 0 })
			if n < 0 {
				n = len(columns)
			}
			if r := w.reading(t, i, columns[:n]); r != nil {
				if err := visit(r); err != nil {
					return err
				}
			}
			columns = columns[n:]
		}
		return nil
	})
}

// describeEvery is how long Moments uses one description of the GPUs, such as which are lost.
const describeEvery = 5 * time.Minute

// Moments visits every recorded moment in [from, to) as a snapshot made from the samples and a
// description of the GPUs. Calling At for each moment would take much longer.
func (r *Recording) Moments(from, to time.Time, visit func(*snapshot.Snapshot)) error {
	var base *snapshot.Snapshot
	var described time.Time
	return r.ticks(from, to, func(w *walk, t int64, i int, columns []readColumn) error {
		snap := &snapshot.Snapshot{Time: moment(t), Past: true, Simulated: w.simulated, ProbeSeen: true, Driver: snapshot.Driver{State: snapshot.DriverOK}}
		if base == nil || snap.Time.Sub(described) >= describeEvery {
			if then, ok := r.At(snap.Time); ok {
				base = then
			}
			described = snap.Time
		}
		if base == nil {
			return nil
		}
		snap.Host, snap.Interval = base.Host, base.Interval
		f := newFigures()
		for _, c := range columns {
			if v, known := c.At(i); known {
				f.add(c.series, v, true)
			}
		}
		for id := range f.rows {
			row := w.processes[id]
			if row == nil {
				continue // the database is damaged
			}
			p := row.WithoutFigures()
			p.SetFigures(f.rows[id].at)
			if g := base.GPU(p.ID.GPUUUID); g != nil {
				p.GPU = g.Index
			}
			snap.Rows = append(snap.Rows, p)
		}
		held := takeAllocations(snap)
		snapshot.SortRows(snap.Rows)
		for k := range base.GPUs {
			g := base.GPUs[k]
			if id := w.gpu(g.UUID); f.gpus[id] != nil { // the GPU answered
				g.SetFigures(snap.Rows, f.gpus[id].at, f.instancesOf(id))
				g.Allocation = held[g.UUID]
				snap.GPUs = append(snap.GPUs, g)
			}
		}
		visit(snap)
		return nil
	})
}

// visitor takes the samples of a moment, at index i of each column; the columns are in subject order.
type visitor func(w *walk, t int64, i int, columns []readColumn) error

func (r *Recording) ticks(from, to time.Time, visit visitor) error {
	return r.eachReader(from, to, func(d *dayReader) error { return d.ticks(from.UnixNano(), to.UnixNano(), visit) })
}

func (d *dayReader) ticks(from, to int64, visit visitor) error {
	uuids, err := d.uuids()
	if err != nil {
		return err
	}
	processes, err := d.processes()
	if err != nil {
		return err
	}
	return d.eachSession(from, to, func(s session, begin, end int64) error {
		return d.walk(&walk{from: begin, to: end, session: s, uuids: uuids, processes: processes, visit: visit})
	})
}

type walk struct {
	session
	from, to  int64
	uuids     map[int64]string
	processes map[int64]*ProcessRow
	visit     visitor
}

// gpu returns the key of a GPU, 0 if the day has none.
func (w *walk) gpu(uuid string) int64 {
	for id, known := range w.uuids {
		if known == uuid {
			return id
		}
	}
	return 0
}

func (d *dayReader) walk(w *walk) error {
	tail := d.tailOf(w.id) // read before the chunks: if the tail is sealed meanwhile, the chunks have its ticks
	sealed := int64(0)
	blocks, err := d.ticksOf(w.id, "from_ns < ? AND to_ns >= ? ORDER BY from_ns", w.to, w.from)
	if err != nil {
		return err
	}
	for _, b := range blocks {
		columns, err := d.columnsOf(w.id, b.from)
		if err == nil {
			err = w.ticks(b.times, columns)
		}
		if err != nil {
			return err
		}
		sealed = b.times[len(b.times)-1]
	}
	if tail == nil {
		return nil
	}
	columns, err := d.tailColumns(tail)
	if err != nil {
		return err
	}
	w.from = max(w.from, sealed+1)
	return w.ticks(tail.block.times[:tail.block.n], columns)
}

type tickBlock struct {
	from  int64
	times []int64
}

// ticksOf returns the readable tick blocks of a session.
func (d *dayReader) ticksOf(session int64, where string, args ...any) (blocks []tickBlock, err error) {
	err = each(ctx, d.db, func(rows *sql.Rows) error {
		var data sql.RawBytes
		var from, codec int64
		if err := rows.Scan(&from, &codec, &data); err != nil {
			return err
		}
		times, err := decodeTicks(codec, session, from, data)
		if err != nil {
			d.problem(err) // the block becomes a gap
		} else if len(times) > 0 {
			blocks = append(blocks, tickBlock{from, times})
		}
		return nil
	}, "SELECT from_ns, codec, data FROM ticks WHERE session = ? AND "+where, append([]any{session}, args...)...)
	return blocks, err
}

type readColumn struct {
	series seriesOf
	*store.Block
}

func (d *dayReader) columnsOf(session, from int64) (columns []readColumn, err error) {
	err = each(ctx, d.db, func(rows *sql.Rows) error {
		var series, codec int64
		var data sql.RawBytes
		c := readColumn{Block: new(store.Block)}
		if err := c.series.scan(rows, &series, &codec, &data); err != nil {
			return err
		}
		if err := decodeChunk(c.Block, codec, series, from, data); err != nil {
			d.problem(err) // the chunk becomes a gap
		}
		columns = append(columns, c)
		return nil
	}, "SELECT c.series, c.codec, c.data, "+seriesColumns+" FROM chunks c JOIN series s ON s.series = c.series WHERE c.from_ns = ? AND s.session = ?", from, session)
	return columns, err
}

func (d *dayReader) tailColumns(t *tailCache) (columns []readColumn, err error) {
	blocks := make(map[int64]*store.Block)
	ids := make([]int64, 0, len(t.block.columns))
	for _, c := range t.block.columns {
		blocks[c.series], ids = &c.Block, append(ids, c.series)
	}
	err = each(ctx, d.db, func(rows *sql.Rows) error {
		var series int64
		var c readColumn
		err := c.series.scan(rows, &series)
		c.Block = blocks[series]
		columns = append(columns, c)
		return err
	}, "SELECT s.series, "+seriesColumns+" FROM json_each(?) ids JOIN series s ON s.series = ids.value", encoded(ids))
	return columns, err
}

func (w *walk) ticks(times []int64, columns []readColumn) error {
	columns = slices.DeleteFunc(columns, func(c readColumn) bool { return c.series.metric == metric.Count })
	sorted.Stable(columns, func(a, b readColumn) int { return a.series.compare(b.series) })
	for i, t := range times {
		if t >= w.from && t < w.to {
			if err := w.visit(w, t, i, columns); err != nil {
				return err
			}
		}
	}
	return nil
}

// reading returns the values at index i of a subject's columns, nil if the subject has none.
func (w *walk) reading(t int64, i int, columns []readColumn) *Reading {
	subject, there := columns[0].series, false
	r := &Reading{Time: moment(t), Simulated: w.simulated, GPUUUID: w.uuids[subject.gpu], Instance: subject.instance, figures: new(values)}
	if p := w.processes[subject.process]; p != nil {
		r.Process, r.GPUUUID, r.Instance = p, p.ID.GPUUUID, p.ID.Instance
	} else if subject.process != 0 {
		return nil // the database is damaged
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

// compare orders the subjects of series, ignoring their metrics.
func (s seriesOf) compare(other seriesOf) int {
	return cmp.Or(cmp.Compare(s.process, other.process), cmp.Compare(s.gpu, other.gpu), s.instance.Compare(other.instance))
}
