package recording

import (
	"cmp"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// sum is the minimum, the time-weighted mean and the maximum of a figure.
type sum struct {
	min, max int64
	area     float64 // value × ns
	covered  int64   // ns
}

func (s *sum) add(figure quantity.Optional[int64], weight time.Duration) {
	v, known := figure.Value()
	if !known {
		return
	}
	if s.covered == 0 {
		s.min, s.max = v, v
	}
	s.min, s.max = min(s.min, v), max(s.max, v)
	s.area += float64(v) * float64(weight)
	s.covered += int64(weight)
}

// window is a stretch of time, and how much of it is in the sums.
type window struct {
	from, width int64 // ns
	covered     int64 // ns
}

func (w *window) set(now int64, width time.Duration) {
	w.width = int64(width)
	w.from, w.covered = now-now%w.width, 0
}

// measure adds a tick to the sums. The first figure is used memory, the last is utilization. covered
// is the time of the ticks whose used memory is known or, until the first such tick, of all ticks.
// The parts of memory are summed over the same ticks, so they add up to used memory.
func (w *window) measure(sums []sum, weight time.Duration, figures []quantity.Optional[int64]) {
	last := len(sums) - 1
	sums[last].add(figures[last], weight)
	used := &sums[0]
	switch known := figures[0].Known(); {
	case known && used.covered == 0: // the first value
		w.covered = 0
		clear(sums[:last])
	case !known && used.covered > 0:
		return
	}
	w.covered += int64(weight)
	for i := range last {
		sums[i].add(figures[i], weight)
	}
}

// ended reports whether a tick lies outside the window: after it or, if the clock was set back, before it.
func (w *window) ended(now int64) bool { return now >= w.from+w.width || now < w.from }

// gpuSums are the sums of a GPU in a minute.
type gpuSums struct {
	window
	parts     [len(gpuParts)]sum
	processes int
	energy    float64 // J
	metered   bool    // energy is known
}

// The figures in gpu_minute and process_5min. Each figure has three columns.
var (
	gpuParts     = [...]string{"used", "free", "allocated", "cached", "fragmented", "other", "unknown", "utilization"}
	processParts = [...]string{"used", "allocated", "cached", "fragmented", "other", "sm_utilization"}
)

func (s *gpuSums) begin(now int64) {
	*s = gpuSums{}
	s.set(now, time.Minute)
}

func (s *gpuSums) add(weight time.Duration, g *snapshot.GPU, snap *snapshot.Snapshot, drawn snapshot.Float) {
	if weight <= 0 {
		return
	}
	n := 0
	for i := range snap.Rows {
		if snap.Rows[i].ID.GPUUUID == g.UUID {
			n++
		}
	}
	s.processes = max(s.processes, n)
	s.energy, s.metered = s.energy+drawn.Or(0), s.metered || drawn.Known()
	s.measure(s.parts[:], weight, []quantity.Optional[int64]{
		quantity.As[int64](g.Memory.Used), quantity.As[int64](g.Memory.Free), quantity.As[int64](g.Parts.Allocated), quantity.As[int64](g.Parts.Returnable), quantity.As[int64](g.Parts.Fragmented),
		quantity.As[int64](g.Parts.Other), quantity.As[int64](g.Parts.Unknown), quantity.As[int64](g.Utilization),
	})
}

// processSums are the sums of a row in five minutes.
type processSums struct {
	window
	parts [len(processParts)]sum
	share share

	// The last known values, because an exiting process has no probe.
	outOfMemory, retries quantity.Optional[int64]
}

// begin starts a window. It carries over the rounding error of the previous energy in whole joules,
// which matters for a small process on a large GPU.
func (s *processSums) begin(now int64) {
	*s = processSums{share: share{energy: s.share.energy - math.Round(s.share.energy)}}
	s.set(now, 5*time.Minute)
}

func (s *processSums) add(weight time.Duration, p *snapshot.Process, part share) {
	if b := p.Probe; b != nil {
		s.outOfMemory, s.retries = latestKnown(b.OutOfMemoryCount, s.outOfMemory), latestKnown(b.AllocRetries, s.retries)
	}
	s.share.add(part)
	s.measure(s.parts[:], weight, []quantity.Optional[int64]{
		quantity.As[int64](p.Used), quantity.As[int64](p.Allocated), quantity.As[int64](p.FlushableCache()), quantity.As[int64](p.Unreturnable()), quantity.As[int64](p.Other), quantity.As[int64](p.SMUtilization),
	})
}

func (d *day) flushGPU(r *gpuRecord) {
	s := &r.sums
	if s.covered > 0 {
		d.flush("gpu_minute", "gpu", r.id, &s.window, s.parts[:], gpuParts[:], assignment{"processes", s.processes, false}, assignment{"energy_joules", number(rounded(s.energy, s.metered)), true})
	}
	s.covered = 0
}

func latestKnown[T any](v, before quantity.Optional[T]) quantity.Optional[T] {
	if v.Known() {
		return v
	}
	return before
}

func (d *day) flushProcess(r *rowRecord) {
	d.updateRow(r)
	s := &r.sums
	if s.covered > 0 {
		d.flush("process_5min", "process", r.id, &s.window, s.parts[:], processParts[:],
			assignment{"out_of_memory_count", number(s.outOfMemory), false}, assignment{"alloc_retries", number(s.retries), false},
			assignment{"held_ns", number(rounded(s.share.held, s.share.taken)), true}, assignment{"busy_ns", number(rounded(s.share.busy, s.share.loaded)), true},
			assignment{"idle_ns", number(rounded(s.share.idle, s.share.loaded)), true}, assignment{"energy_joules", number(rounded(s.share.energy, s.share.metered)), true})
	}
	s.covered = 0
}

// assignment is a column with its value, which is added to the present value (adds) or replaces it.
type assignment struct {
	name  string
	value any
	adds  bool
}

// flush writes a row of sums. After a restart of the recorder within the window, it merges the sums
// into the existing row.
func (d *day) flush(table, subject string, id int64, w *window, sums []sum, parts []string, more ...assignment) {
	names := []string{"time_ns", subject, "covered_ns"}
	args := []any{w.from, id, w.covered}
	merges := []string{"covered_ns = covered_ns + excluded.covered_ns"}
	for i, part := range parts {
		unit := "bytes"
		if strings.HasSuffix(part, "utilization") {
			unit = "percent"
		}
		low, mean, high := part+"_min_"+unit, part+"_mean_"+unit, part+"_max_"+unit
		names = append(names, low, mean, high)
		merges = append(merges,
			fmt.Sprintf("%s = min(coalesce(%[1]s, excluded.%[1]s), coalesce(excluded.%[1]s, %[1]s))", low),
			mean+" = "+fmt.Sprintf(joinedMeans[unit], mean),
			fmt.Sprintf("%s = max(coalesce(%[1]s, excluded.%[1]s), coalesce(excluded.%[1]s, %[1]s))", high))
		s := &sums[i]
		switch {
		case s.covered == 0:
			args = append(args, nil, nil, nil)
		case unit == "percent":
			args = append(args, s.min, s.area/float64(s.covered), s.max)
		default:
			args = append(args, s.min, int64(math.Round(s.area/float64(w.covered))), s.max)
		}
	}
	for _, c := range more {
		names, args = append(names, c.name), append(args, c.value)
		sum := ""
		if c.adds {
			sum = c.name + " + excluded." + c.name + ", "
		}
		merges = append(merges, fmt.Sprintf("%s = coalesce(%sexcluded.%[1]s, %[1]s)", c.name, sum))
	}
	d.exec(fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s) ON CONFLICT DO UPDATE SET %s",
		table, strings.Join(names, ", "), strings.Repeat(", ?", len(names)-1), strings.Join(merges, ", ")), args...)
}

// joinedMeans are SQL expressions for the mean over two parts of a window. The mean of a percentage
// leaves out a part in which it is unknown; the mean of memory is over all covered time.
var joinedMeans = map[string]string{
	"percent": "(coalesce(%[1]s, excluded.%[1]s) * 1.0 * covered_ns + coalesce(excluded.%[1]s, %[1]s) * 1.0 * excluded.covered_ns) / (covered_ns + excluded.covered_ns)",
	"bytes": "CASE WHEN coalesce(%[1]s, excluded.%[1]s) IS NOT NULL THEN CAST(round((coalesce(%[1]s, 0) * 1.0 * covered_ns + " +
		"coalesce(excluded.%[1]s, 0) * 1.0 * excluded.covered_ns) / (covered_ns + excluded.covered_ns)) AS INTEGER) END",
}

// Summed sums moments as a Writer does, in a database in memory, for rows that a Writer has not
// written yet or that a kill lost. A Writer writes a GPU's row after a minute, a process's after five.
func Summed(moments func(add func(*snapshot.Snapshot)) error) (minutes []GPUMinute, fives []Process5Min, err error) {
	db, err := inMemory()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = db.Close() }() // the database was in memory
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	d := &day{sumsOnly: true, database: &database{db: db, conn: conn, prepared: make(map[string]*sql.Stmt)}}
	err = cmp.Or(moments(func(snap *snapshot.Snapshot) { d.write(snap, nil) }), d.finish())
	d.release()
	if err == nil {
		err = each(ctx, db, collect(&minutes, (*GPUMinute).columns), selectMinutes, 0, math.MaxInt64)
	}
	if err == nil {
		err = each(ctx, db, collect(&fives, (*Process5Min).columns), selectFives, 0, math.MaxInt64)
	}
	return minutes, fives, err
}
