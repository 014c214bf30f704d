package recording

import (
	"database/sql"
	"os"
	"sync"
	"time"

	"vramscope/internal/quantity"
)

// describedDay has the processes of the day that was read last. A report reads each day's
// tables one after the other, and all of them name processes.
type describedDay struct {
	mu        sync.Mutex
	file      fileState
	processes map[int64]*ProcessRow // not changed any more
}

// fileState is what a database's files look like from outside; it changes with every
// commit.
type fileState struct {
	path string
	of   [2]struct{ size, changed int64 } // the database, its log
	read time.Time
}

func stateOf(path string) (s fileState) {
	s.path, s.read = path, time.Now()
	for i, also := range []string{"", "-wal"} {
		if info, err := os.Stat(path + also); err == nil {
			s.of[i].size, s.of[i].changed = info.Size(), info.ModTime().UnixNano()
		}
	}
	return s
}

// clockTick is more than the resolution of a file's time.
const clockTick = time.Second

// same reports that nothing was written between two states. What was written just
// before the first may be followed by more at the same time.
func (s *fileState) same(later *fileState) bool {
	newest := time.Unix(0, max(s.of[0].changed, s.of[1].changed))
	return s.path == later.path && s.of == later.of && s.read.Sub(newest) > clockTick
}

// processes are the day's processes.
func (d *dayReader) processes() (map[int64]*ProcessRow, error) {
	d.last.mu.Lock()
	defer d.last.mu.Unlock()
	state := stateOf(d.path)
	if d.last.file.same(&state) {
		return d.last.processes, nil
	}
	uuids, err := d.uuids()
	if err != nil {
		return nil, err
	}
	all := make(map[int64]*ProcessRow)
	err = each(ctx, d.db, func(rows *sql.Rows) error {
		var first, last, retries sql.NullInt64
		p, err := scanProcess(rows, uuids, &first, &last, &retries)
		all[p.id] = &ProcessRow{
			Process: p.Last, First: moment(first.Int64), Last: moment(last.Int64), Ended: p.Ended, ExitStatus: p.ExitStatus,
			OutOfMemoryCount: p.OutOfMemoryCount, AllocRetries: known[int64](retries, quantity.Probe),
		}
		return err
	}, "SELECT "+processColumns+", p.first_ns, p.last_ns, p.alloc_retries FROM processes p")
	if err == nil {
		d.last.file, d.last.processes = state, all
	}
	return all, err
}
