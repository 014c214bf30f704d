package recording

import (
	"cmp"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/store"
)

// day writes the database of one day. One goroutine uses it.
type day struct {
	*database
	path         string
	fullCommands bool
	sumsOnly     bool // sums are recorded, samples are not

	session int64
	block   block
	series  int64 // the newest series ID
	box     string
	gpus    map[string]*gpuRecord
	rows    map[snapshot.RowID]*rowRecord
	alerts  map[snapshot.AlertKey]alertRecord
	last    int64 // ns, of the newest tick, which may belong to the day before; 0: none
	divider divider
	work    []byte
}

type alertRecord struct {
	id    int64
	named bool // the alert's process need not be looked up again
}

type gpuRecord struct {
	id        int64
	at        int64 // ns, the time of the newest tick that has the GPU
	state     string
	columns   [metric.Count]*column
	instances map[snapshot.InstanceID]*column
	sums      gpuSums
}

type rowRecord struct {
	id, gpu int64
	at      int64             // ns, the time of the newest tick that has the row
	last    *snapshot.Process // the row at that tick
	used    snapshot.Bytes    // the last known value: an exiting process may report none
	columns [metric.Count]*column
	sums    processSums
}

func fileOf(t time.Time) string { return t.UTC().Format(time.DateOnly) + suffix }

const suffix = ".db"

// openDay opens the database of the day that includes now, and seals a tail that was left in it.
func openDay(directory string, now time.Time, fullCommands bool) (*day, error) {
	d := &day{path: filepath.Join(directory, fileOf(now)), fullCommands: fullCommands}
	var err error
	if d.database, err = openDatabase(d.path); err != nil {
		return nil, err
	}
	d.recover()
	d.each(func(rows *sql.Rows) error { return rows.Scan(&d.series) }, "SELECT coalesce(max(series), 0) FROM series")
	if d.err != nil {
		err = d.err
		_ = d.database.close() // the earlier error is reported
		return nil, fmt.Errorf("recording: %s: %w", d.path, err)
	}
	return d, nil
}

// recover seals the tail that is in the database, up to the first damaged row.
func (d *day) recover() {
	var tail []tailRow
	d.each(func(rows *sql.Rows) error {
		r, err := scanTail(rows)
		tail = append(tail, r)
		return err
	}, selectTail)
	for i := range tail {
		if d.block.replay(&tail[i]) != nil {
			break
		}
		d.session = tail[i].session
	}
	if len(tail) > 0 {
		d.seal()
		d.endAlerts(tail[len(tail)-1].time)
	}
	d.block = block{}
}

// endAlerts ends the alerts that are active at the last tick of a session, just after that tick.
func (d *day) endAlerts(last int64) {
	d.exec("UPDATE alerts SET to_ns = ? WHERE to_ns IS NULL", last+1)
}

func (d *day) begin(snap *snapshot.Snapshot) {
	d.seal()
	d.endAlerts(d.last)
	d.block = block{}
	d.gpus, d.rows, d.alerts = make(map[string]*gpuRecord), make(map[snapshot.RowID]*rowRecord), make(map[snapshot.AlertKey]alertRecord)
	now := snap.Time.UnixNano()
	d.session = d.exec("INSERT INTO sessions (from_ns, to_ns, host, user, simulated, arguments) VALUES (?, ?, ?, ?, ?, ?)",
		now, now, text.Clean(snap.Host.Name), text.Clean(snap.Host.User), snap.Simulated, d.fullCommands)
	d.box = ""
}

func (d *day) write(snap *snapshot.Snapshot, events []snapshot.Event) {
	now := snap.Time.UnixNano()
	switch {
	case now == d.last:
		return // this tick is already written
	case d.rows == nil || now < d.last:
		d.begin(snap)
	}
	elapsed := time.Duration(0)
	if d.last > 0 {
		elapsed = max(time.Duration(now-d.last), 0)
	}
	d.last = now
	if d.block.n == store.BlockTicks {
		d.seal()
	}
	d.block.times[d.block.n] = now
	d.block.n++
	if state := encoded(boxStateOf(snap)); state != d.box {
		d.box = state
		d.exec("INSERT INTO box_states VALUES (?, ?, ?)", d.session, now, state)
	}
	weight := weightOf(elapsed, snap)
	rows := d.divider.divide(weight, elapsed, snap)
	for i := range snap.GPUs {
		d.writeGPU(now, weight, &snap.GPUs[i], snap)
	}
	for i := range rows {
		d.writeRow(now, weight, &rows[i], d.divider.rows[i])
	}
	d.endRows(now, snap)
	d.writeAlerts(now, snap)
	for i := range events {
		d.writeEvent(&events[i], snap)
	}
	if d.sumsOnly {
		return
	}
	d.work = checked(d.session, now, d.block.appendTail(append(d.work[:0], make([]byte, checksumBytes)...)))
	d.exec("INSERT INTO tail VALUES (?, ?, ?, ?)", now, d.session, d.work, codecChecked)
}

// weightOf returns the time that a tick counts for: the time since the previous tick, but at most
// two intervals of at least a second each. The rest of a longer time is a gap.
func weightOf(elapsed time.Duration, snap *snapshot.Snapshot) time.Duration {
	return min(elapsed, 2*max(snap.Interval, time.Second))
}

// seal writes the block's samples as chunks, which replace the tail.
func (d *day) seal() {
	b := &d.block
	if b.n == 0 {
		return
	}
	from, to := b.times[0], b.times[b.n-1]
	times := b.ticks()
	d.exec("INSERT INTO ticks VALUES (?, ?, ?, ?, ?)", d.session, from, to, codecChecked, appendChunk(nil, d.session, from, &times))
	for _, c := range b.columns {
		if c.listed {
			d.work = appendChunk(d.work[:0], c.series, from, &c.Block)
			d.exec("INSERT INTO chunks VALUES (?, ?, ?, ?, ?)", c.series, from, to, codecChecked, d.work)
		}
	}
	d.exec("DELETE FROM tail")
	d.exec("UPDATE sessions SET to_ns = ? WHERE session = ?", to, d.session)
	for _, g := range d.gpus {
		d.exec("UPDATE gpus SET last_ns = max(last_ns, ?) WHERE gpu = ?", to, g.id)
	}
	for _, r := range d.rows {
		d.updateRow(r)
	}
	b.reset()
}

// sample writes a figure into its column, and creates the column if needed. A tick without a figure
// is a gap. A GPU's figure has process 0.
func (d *day) sample(c **column, id metric.ID, value snapshot.Float, gpu int64, instance snapshot.InstanceID, process int64) {
	v, known := value.Value()
	if d.sumsOnly {
		return
	}
	if *c == nil {
		if !known && (process == 0 || id != metric.Used) { // a row always has a series of used memory, which shows that the row exists
			return
		}
		d.series++
		migGPU, migCompute := instanceColumns(instance)
		d.exec("INSERT INTO series VALUES (?, ?, ?, ?, ?, ?, ?)", d.series, d.session, metric.Table[id].Name, gpu, migGPU, migCompute, orNull(process))
		*c = d.block.column(d.series)
	}
	if known {
		(*c).Set(d.block.n-1, metric.Table[id].Whole(v))
	}
}

// instanceColumns returns the columns of a MIG instance, NULL for a whole GPU.
func instanceColumns(in snapshot.InstanceID) (gpu, compute any) {
	if !in.MIG {
		return nil, nil
	}
	return in.GPU, in.Compute
}

func (d *day) finish() error {
	d.seal()
	d.endAlerts(d.last)
	for _, g := range d.gpus {
		d.flushGPU(g)
	}
	for _, r := range d.rows {
		d.flushProcess(r)
	}
	return d.commit()
}

func (d *day) close() error {
	return cmp.Or(d.finish(), d.database.close())
}

func remove(path string) error {
	for _, also := range []string{"-wal", "-shm", ""} {
		if err := os.Remove(path + also); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
