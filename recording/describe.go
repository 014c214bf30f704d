package recording

import (
	"database/sql"
	"fmt"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// Session is a time of writing without interruption.
type Session struct {
	To        time.Time // its last tick
	Host      string
	Simulated bool
}

// GPURow is a GPU as its day describes it.
type GPURow struct {
	UUID            string
	Index           int
	Name            string
	Total, Reserved snapshot.Bytes
}

// Capacity is the total less what the driver keeps for itself.
func (g *GPURow) Capacity() snapshot.Bytes {
	return snapshot.Memory{Total: g.Total, Reserved: g.Reserved}.Capacity()
}

// EventRow is an event of the log.
type EventRow struct {
	Time time.Time `column:"time_ns"`
	Subject
	Kind    snapshot.EventKind `column:"kind"`
	Message string             `column:"message"`
}

// EventRows are the events in [from, to).
func (r *Recording) EventRows(from, to time.Time) ([]EventRow, error) {
	return rows[EventRow](r, "events", from, to)
}

// Sessions are those that wrote in [from, to), oldest first.
func (r *Recording) Sessions(from, to time.Time) ([]Session, error) {
	var all []Session
	err := r.eachDay(from, to, func(rows *sql.Rows) error {
		var s Session
		var last int64
		var host sql.NullString
		err := rows.Scan(&last, &host, &s.Simulated)
		s.To, s.Host = moment(last), host.String
		all = append(all, s)
		return err
	}, `SELECT max(to_ns, coalesce((SELECT max(time_ns) FROM tail WHERE tail.session = sessions.session), 0)) AS last, host, simulated
		FROM sessions WHERE from_ns < ?2 AND last >= ?1 ORDER BY session`,
		from.UnixNano(), to.UnixNano())
	return all, err
}

// GPUs are those that were there in [from, to). A GPU is there once for each day.
func (r *Recording) GPUs(from, to time.Time) ([]GPURow, error) {
	var all []GPURow
	err := r.eachDay(from, to, func(rows *sql.Rows) error {
		var g GPURow
		var index, total, reserved sql.NullInt64
		var name sql.NullString
		err := rows.Scan(&g.UUID, &index, &name, &total, &reserved)
		g.Index, g.Name = int(index.Int64), name.String
		g.Total, g.Reserved = known[quantity.Bytes](total, quantity.Driver), known[quantity.Bytes](reserved, quantity.Driver)
		all = append(all, g)
		return err
	}, "SELECT uuid, gpu_index, name, total_bytes, reserved_bytes FROM gpus ORDER BY gpu")
	return all, err
}

// Recorded are the processes of which a metric was recorded in [from, to).
func (r *Recording) Recorded(id metric.ID, from, to time.Time) (map[snapshot.RowID]bool, error) {
	all := make(map[snapshot.RowID]bool)
	err := r.eachDay(from, to, func(rows *sql.Rows) error {
		var row snapshot.RowID
		var of place
		var start, namespace int64
		err := rows.Scan(&row.Process.PID, &start, &namespace, &row.GPUUUID, &of.migGPU, &of.migCompute)
		row.Process.StartTime, row.Process.Namespace, row.Instance = uint64(start), uint64(namespace), of.instance()
		all[row] = true
		return err
	}, `SELECT DISTINCT p.pid, p.start_time, p.pid_namespace, g.uuid, p.mig_gpu, p.mig_compute
		FROM series s JOIN processes p ON p.process = s.process JOIN gpus g ON g.gpu = p.gpu WHERE s.metric = ?`, metric.Table[id].Name)
	return all, err
}

// eachDay calls scan for every row of a query in the days of a time.
func (r *Recording) eachDay(from, to time.Time, scan func(*sql.Rows) error, query string, args ...any) error {
	for _, path := range r.between(from, to) {
		d, err := r.day(path)
		if err == nil {
			err = each(ctx, d.db, scan, query, args...)
		}
		if err = r.unless(path, err); err != nil {
			return fmt.Errorf("recording: %s: %w", path, err)
		}
	}
	return nil
}
