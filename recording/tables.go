package recording

import (
	"cmp"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"vramscope/sampler/snapshot"
)

// eachRow visits the rows of a table over all days.
func eachRow[T any](r *Recording, table string, columns columns[T], from, to time.Time, visit func(*T)) error {
	return r.eachReader(from, to, func(d *dayReader) error {
		return eachDayRow(d, table, columns, from.UnixNano(), to.UnixNano(), visit)
	})
}

// columns names a table's columns, the time first, and the destinations of a row's values.
type columns[T any] func(*T, *subjects) (names string, to []any)

// subjects are the GPUs and processes of a day, by their keys.
type subjects struct {
	uuids map[int64]string
	rows  map[int64]snapshot.RowID
}

func (s *subjects) gpu(to *Subject) into {
	return take(func(key int64) { to.GPUUUID = s.uuids[key] })
}

// process takes a process, and its GPU if no other is named.
func (s *subjects) process(to *Subject) into {
	return take(func(key int64) {
		to.Row = s.rows[key]
		to.GPUUUID = cmp.Or(to.GPUUUID, to.Row.GPUUUID)
	})
}

func (d *dayReader) subjects() (s subjects, err error) {
	if s.uuids, err = d.uuids(); err == nil {
		s.rows, err = d.identities()
	}
	return s, err
}

// eachDayRow visits the rows of a day's table.
func eachDayRow[T any](d *dayReader, table string, columns columns[T], from, to int64, visit func(*T)) error {
	about, err := d.subjects()
	if err != nil {
		return err
	}
	var row, zero T
	names, values := columns(&row, &about)
	time, _, _ := strings.Cut(names, ",")
	err = each(ctx, d.db, func(rows *sql.Rows) error {
		row = zero
		if err := rows.Scan(values...); err != nil {
			return err
		}
		visit(&row)
		return nil
	}, fmt.Sprintf("SELECT %s FROM %s WHERE %s >= ? AND %[3]s < ? ORDER BY %[3]s", names, table, time), from, to)
	if err != nil {
		return fmt.Errorf("%s: %w", table, err)
	}
	return nil
}
