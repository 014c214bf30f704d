package recording

import (
	"cmp"
	"database/sql"
	"math"

	"vramscope/sampler/snapshot"
)

// Summed sums moments as a Writer does, by writing them into memory. A Writer writes a GPU's row
// each minute and a process's row each five minutes: the newest are missing while it runs, and
// for good after it was killed.
func Summed(moments func(add func(*snapshot.Snapshot)) error) (minutes []GPUMinute, fives []Process5Min, err error) {
	db, err := inMemory()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = db.Close() }() // it was in memory
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	d := &day{sumsOnly: true, database: &database{db: db, conn: conn, prepared: make(map[string]*sql.Stmt)}}
	err = cmp.Or(moments(func(snap *snapshot.Snapshot) { d.write(snap, nil) }), d.finish())
	d.release()
	r := &dayReader{db: db, problem: func(error) {}}
	if err == nil {
		err = eachDayRow(r, "gpu_minute", (*GPUMinute).columns, 0, math.MaxInt64, func(m *GPUMinute) { minutes = append(minutes, *m) })
	}
	if err == nil {
		err = eachDayRow(r, "process_5min", (*Process5Min).columns, 0, math.MaxInt64, func(f *Process5Min) { fives = append(fives, *f) })
	}
	return minutes, fives, err
}
