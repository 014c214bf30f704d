package recording

import (
	"database/sql"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"vramscope/sampler/snapshot"
)

// rows reads a table over all days.
func rows[T any](r *Recording, table string, from, to time.Time) (all []T, err error) {
	err = eachRow(r, table, from, to, func(row *T) { all = append(all, *row) })
	return all, err
}

// eachRow visits the rows of a table over all days. A day that is damaged is left out
// from there on; Problems says so.
func eachRow[T any](r *Recording, table string, from, to time.Time, visit func(*T)) error {
	for _, path := range r.between(from, to) {
		d, err := r.day(path)
		if err == nil {
			err = eachDayRow(d, table, from.UnixNano(), to.UnixNano(), visit)
		}
		if err = r.unless(path, err); err != nil {
			return fmt.Errorf("recording: %s: %s: %w", path, table, err)
		}
	}
	return nil
}

// eachDayRow visits the rows of a day's table.
func eachDayRow[T any](d *dayReader, table string, from, to int64, visit func(*T)) error {
	var names []string
	fieldColumns(reflect.TypeFor[T](), func(name string) { names = append(names, name) })
	when := fmt.Sprintf("FROM %s WHERE %s >= ? AND %[2]s < ? ORDER BY %[2]s", table, names[0])
	uuids, err := d.uuids()
	if err != nil {
		return err
	}
	var ids map[int64]snapshot.RowID
	if slices.Contains(names, "process") {
		if ids, err = d.identities(); err != nil {
			return err
		}
	}
	values := make([]any, len(names))
	pointers := make([]any, len(names))
	for i := range values {
		pointers[i] = &values[i]
	}
	return each(ctx, d.db, func(rows *sql.Rows) error {
		if err := rows.Scan(pointers...); err != nil {
			return err
		}
		var row T
		rest := values
		fill(reflect.ValueOf(&row).Elem(), &rest, uuids, ids)
		visit(&row)
		return nil
	}, "SELECT "+strings.Join(names, ", ")+" "+when, from, to)
}

// fieldColumns visits the columns of a type, in the order in which fill takes their values.
func fieldColumns(t reflect.Type, visit func(string)) {
	for f := range t.Fields() {
		column := f.Tag.Get("column")
		switch f.Type {
		case reflect.TypeFor[Subject]():
			for _, id := range []string{"gpu", "process"} {
				if column != "" && column != id {
					id = "NULL" // the table has the other alone
				}
				visit(id)
			}
		case reflect.TypeFor[snapshot.InstanceID]():
			visit("mig_gpu")
			visit("mig_compute")
		case reflect.TypeFor[Sum]():
			visit(column + "_min_bytes")
			visit(column + "_mean_bytes")
			visit(column + "_max_bytes")
		case reflect.TypeFor[Utilization]():
			visit(column + "_mean_percent")
			visit(column + "_max_percent")
		default:
			visit(column)
		}
	}
}
