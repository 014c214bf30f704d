package recording

import (
	"cmp"
	"database/sql"
	"sort"
	"time"

	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/store"
)

// Series returns a metric between from and to in equal buckets; see snapshot.History.
func (r *Recording) Series(key snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	points := snapshot.Points(from, to, buckets)
	if len(points) == 0 {
		return points
	}
	add := func(t, v int64) {
		at := time.Unix(0, t)
		points[sort.Search(len(points)-1, func(i int) bool { return !points[i].Time.Before(at) })].Add(v)
	}
	for _, path := range r.between(from, to) {
		if d, err := r.day(path); err == nil {
			d.samples(key, from.UnixNano(), to.UnixNano(), add)
		}
	}
	return points
}

// samples visits the samples of a series in (from, to], oldest first.
func (d *dayReader) samples(key snapshot.SeriesKey, from, to int64, visit func(t, v int64)) {
	where, args := d.find(key)
	if where == "" {
		return
	}
	_ = d.eachSession(from+1, max(to, to+1), func(s session, begin, end int64) error { // visit returns no error
		id := d.number("SELECT series FROM series WHERE session = ? AND metric = ? AND "+where, append([]any{s.id, metric.Table[key.Metric].Name}, args...)...)
		if id != 0 {
			// The tail is read first, so that ticks that are sealed meanwhile are not missed.
			tail := d.tailOf(s.id)
			d.sealed(s.id, id, begin-1, end-1, visit)
			tail.samples(id, begin-1, end-1, visit)
		}
		return nil
	})
}

// find returns the condition for a key's series, "" if the day does not have its GPU or process.
func (d *dayReader) find(key snapshot.SeriesKey) (where string, args []any) {
	gpu := d.number("SELECT gpu FROM gpus WHERE uuid = ?", cmp.Or(key.Row.GPUUUID, key.GPUUUID))
	if gpu == 0 {
		return "", nil
	}
	if key.Row == (snapshot.RowID{}) {
		migGPU, migCompute := instanceColumns(key.Instance)
		return "gpu = ? AND mig_gpu IS ? AND mig_compute IS ? AND process IS NULL", []any{gpu, migGPU, migCompute}
	}
	process := d.number(findProcess, keyColumns(key.Row, gpu)...)
	if process == 0 {
		return "", nil
	}
	return "process = ?", []any{process}
}

func (d *dayReader) sealed(session, series, from, to int64, visit func(t, v int64)) {
	var b store.Block
	d.each(func(rows *sql.Rows) error {
		var begin, ticksCodec, codec int64
		var ticks, data sql.RawBytes
		if err := rows.Scan(&begin, &ticksCodec, &ticks, &codec, &data); err != nil {
			return err
		}
		times, err := decodeTicks(ticksCodec, session, begin, ticks)
		if err == nil {
			err = decodeChunk(&b, codec, series, begin, data)
		}
		if err != nil {
			d.problem(err) // a gap
			return nil
		}
		for i, t := range times {
			if v, known := b.At(i); known && t > from && t <= to {
				visit(t, v)
			}
		}
		return nil
	}, `SELECT t.from_ns, t.codec, t.data, c.codec, c.data FROM ticks t JOIN chunks c ON c.from_ns = t.from_ns AND c.series = ?
		WHERE t.session = ? AND t.from_ns <= ? AND t.from_ns >= coalesce((SELECT max(from_ns) FROM ticks WHERE session = ? AND from_ns <= ?), 0)
		ORDER BY t.from_ns`, series, session, to, session, from)
}

// tailCache is the tail as last read. A new reading replaces the block and never changes it.
type tailCache struct {
	session, first, last int64 // ns
	block                *block
}

// tailOf returns a session's tail, or nil.
func (d *dayReader) tailOf(session int64) *tailCache {
	d.mu.Lock()
	defer d.mu.Unlock()
	var first, last sql.NullInt64
	if !d.row([]any{&first, &last}, "SELECT (SELECT min(time_ns) FROM tail), (SELECT max(time_ns) FROM tail)") || !first.Valid {
		d.tail = tailCache{}
		return nil
	}
	if t := &d.tail; t.first != first.Int64 || t.last != last.Int64 {
		fresh := tailCache{first: first.Int64, last: last.Int64, block: new(block)}
		d.each(func(rows *sql.Rows) error {
			r, err := scanTail(rows)
			if err != nil {
				return err
			}
			fresh.session = r.session
			return fresh.block.replay(&r)
		}, selectTail)
		d.tail = fresh
	}
	if d.tail.session != session {
		return nil
	}
	found := d.tail
	return &found
}

func (t *tailCache) samples(series, from, to int64, visit func(t, v int64)) {
	if t == nil {
		return
	}
	for _, c := range t.block.columns {
		if c.series != series {
			continue
		}
		for i, at := range t.block.times[:t.block.n] {
			if v, known := c.At(i); known && at > from && at <= to {
				visit(at, v)
			}
		}
	}
}
