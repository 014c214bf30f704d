package recording

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/sampler/snapshot"
)

// edit changes a database that no recorder has open.
func edit(t *testing.T, path string, change func(*database)) {
	t.Helper()
	db, err := openDatabase(path)
	if err != nil {
		t.Fatal(err)
	}
	change(db)
	if err := db.commit(); err != nil {
		t.Fatal(err)
	}
	if err := db.close(); err != nil {
		t.Fatal(err)
	}
}

// A flipped bit on the disk makes samples unknown, which the recording reports. It never turns them into
// other samples.
func TestFlippedBitInventsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, table := range []string{"ticks", "chunks", "tail"} {
		q := newQuiet(t, t.TempDir(), Options{})
		moments := q.record(300)
		if err := q.w.day.database.close(); err != nil { // as if the recorder had been killed: it leaves a tail
			t.Fatal(err)
		}
		_ = q.w.lock.Close()
		flipped := 0
		edit(t, filepath.Join(q.w.directory, fileOf(q.now)), func(db *database) {
			key := map[string]string{"ticks": "from_ns", "chunks": "series * 10000000000000000000 + from_ns", "tail": "time_ns"}[table]
			var keys []string
			var blobs [][]byte
			db.each(func(rows *sql.Rows) error {
				var at string
				var data []byte
				err := rows.Scan(&at, &data)
				keys, blobs = append(keys, at), append(blobs, data)
				return err
			}, "SELECT CAST("+key+" AS TEXT), data FROM "+table)
			for i, data := range blobs {
				if bit := q.random.IntN(8 * len(data)); i%3 == 1 {
					data[bit/8] ^= 1 << (bit % 8)
					db.exec("UPDATE "+table+" SET data = ? WHERE CAST("+key+" AS TEXT) = ?", data, keys[i])
					flipped++
				}
			}
		})
		if flipped == 0 {
			t.Fatal("nothing was flipped")
		}
		r := read(t, q.w.directory)
		whole, looked := 0, 0
		for i := 0; i < len(moments); i += 5 {
			want := moments[i]
			looked++
			got, ok := r.At(want.Time)
			if !ok || got.Sequence != uint64(want.Time.UnixNano()) {
				continue // r shows an earlier tick
			}
			if sameFigures(t, got, want) {
				whole++
			}
		}
		if whole == 0 || whole == looked {
			t.Errorf("%s: %d of %d moments are whole", table, whole, looked)
		}
		if problems := strings.Join(r.Problems(), ""); !strings.Contains(problems, "is damaged") {
			t.Errorf("%s: %d bits are flipped, and the problem is %q", table, flipped, problems)
		}
	}
}

// sameFigures reports whether got has all figures of want. A figure that differs is an error.
func sameFigures(t *testing.T, got, want *snapshot.Snapshot) bool {
	t.Helper()
	whole := len(got.Rows) == len(want.Rows) && len(got.GPUs) == len(want.GPUs)
	same := func(what string, has, had snapshot.Bytes) {
		if has.Known() && has != had {
			t.Errorf("at %v: %s is %v, was %v", want.Time, what, has, had)
		}
		whole = whole && has.Known() == had.Known()
	}
	for i := range got.Rows {
		g := &got.Rows[i]
		w := want.Row(g.ID)
		if w == nil {
			t.Fatalf("at %v: row %+v is invented", want.Time, g.ID)
		}
		same(fmt.Sprintf("used of %d", g.ID.Process.PID), g.Used, w.Used)
		same(fmt.Sprintf("allocated of %d", g.ID.Process.PID), g.Allocated, w.Allocated)
	}
	for i := range got.GPUs {
		same("used of a GPU", got.GPUs[i].Memory.Used, want.GPU(got.GPUs[i].UUID).Memory.Used)
	}
	return whole
}
