package recording

import (
	"database/sql"
	"errors"
	"maps"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/store"
)

// Every reading equals what At shows for its moment, across midnight and in the tail.
func TestReadingsEqualTheMoments(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	b := newBox(t, Options{})
	for range 330 {
		b.tick(time.Second)
	}
	b.writer.commit()
	r := read(t, b.writer.directory)
	from, to := start.Add(100*time.Second), start.Add(320*time.Second)
	var then *snapshot.Snapshot
	ticks, rows, rowsThen := 0, 0, 0
	next := func(at time.Time) {
		if rows != rowsThen {
			t.Fatalf("before %v: %d rows, want %d", at, rows, rowsThen)
		}
		if then != nil && at.Sub(then.Time) != time.Second {
			t.Fatalf("%v after %v", at, then.Time)
		}
		then, _ = r.At(at)
		ticks, rows, rowsThen = ticks+1, 0, len(then.Rows)
	}
	err := r.Readings(from, to, func(x *Reading) error {
		if !x.Simulated || x.Time.Before(from) || !x.Time.Before(to) {
			t.Fatalf("%+v", x)
		}
		if then == nil || !x.Time.Equal(then.Time) {
			next(x.Time)
		}
		used, known := x.Value(metric.Used)
		var want snapshot.Bytes
		switch {
		case x.Process != nil:
			rows++
			want = then.Row(x.Process.ID).Used
		case x.Instance.MIG:
			return nil
		default:
			want = then.GPU(x.GPUUUID).Memory.Used
		}
		if int64(want.Or(0)) != used || want.Known() != known {
			t.Fatalf("%v: used %d (%v), want %v", x.Time, used, known, want)
		}
		return nil
	})
	if err != nil || ticks != 220 {
		t.Fatalf("%d ticks, %v", ticks, err)
	}
	stop := errors.New("stop")
	if err := r.Readings(from, to, func(*Reading) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error %v, want that of visit", err)
	}
}

// TestMomentsHaveTheFiguresOfAt: Moments has the recorded figures even after the loss of a GPU that
// the description still has.
func TestMomentsHaveTheFiguresOfAt(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	moments := q.record(20)
	fewer := *q.snap
	fewer.GPUs, fewer.Rows = fewer.GPUs[:1], fewer.Rows[:3]
	q.snap = &fewer
	moments = append(moments, q.record(20)...)
	r := q.end()
	err := r.Moments(moments[0].Time, q.now.Add(1), func(got *snapshot.Snapshot) {
		want := moments[0]
		moments = moments[1:]
		if !got.Time.Equal(want.Time) || !got.Past || !got.Simulated || got.Interval != time.Second || !sameFigures(t, got, want) {
			t.Errorf("%d GPUs and %d rows at %v, want %d and %d at %v", len(got.GPUs), len(got.Rows), got.Time, len(want.GPUs), len(want.Rows), want.Time)
		}
		for i := range got.Rows {
			if id := got.Rows[i].ID; got.Rows[i].GPU != want.Row(id).GPU {
				t.Errorf("PID %d is on GPU %d", id.Process.PID, got.Rows[i].GPU)
			}
		}
	})
	if err != nil || len(moments) > 0 {
		t.Errorf("%d moments are missing: %v", len(moments), err)
	}
}

// TestUnknownFiguresStayUnknown: the unknown figures of a row, and of a GPU that did not answer, do
// not become 0, and have no series. A row stays even if its used memory is unknown.
func TestUnknownFiguresStayUnknown(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	snap := q.next()
	row, gpu := &snap.Rows[0], &snap.GPUs[1]
	snap.Rows[1].Used = snapshot.Bytes{}
	row.Allocated, row.CPU, gpu.Memory.Used = snapshot.Bytes{}, snapshot.Float{}, snapshot.Bytes{}
	for id := metric.FirstSensor; id < metric.Count; id++ {
		gpu.Set(id, snapshot.Float{})
	}
	q.w.write(tick{snap, nil})
	r := q.end()
	recorded, err := r.Recorded(metric.Allocated, snap.Time, snap.Time)
	if n := queryRow(t, r, "SELECT count(*) FROM series WHERE metric = 'used_bytes' AND process IS NULL"); err != nil || n != "1" || len(recorded) != 5 || recorded[row.ID] {
		t.Errorf("%s GPUs have used memory, and allocated memory: %v, %v", n, recorded, err)
	}
	then, ok := r.At(snap.Time)
	if got := then.Row(snap.Rows[1].ID); got == nil || got.Used.Known() || !got.Allocated.Known() {
		t.Errorf("%+v", got)
	}
	if got := then.Row(row.ID); !ok || !got.Used.Known() || got.Allocated.Known() || got.CPU.Known() {
		t.Errorf("%+v", got)
	}
	if got := then.GPU(gpu.UUID); got == nil || got.Memory.Used.Known() || got.Utilization.Known() || !then.GPUs[0].Utilization.Known() {
		t.Errorf("%+v", got)
	}
	err = r.Moments(snap.Time, snap.Time.Add(1), func(s *snapshot.Snapshot) {
		if got := s.Row(row.ID); !got.Used.Known() || got.Allocated.Known() || got.CPU.Known() || s.GPU(gpu.UUID) != nil {
			t.Errorf("%+v", s)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestBlockWithoutTicksIsSkipped: a block without times is skipped even if its checksum is right.
func TestBlockWithoutTicksIsSkipped(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	moments := q.record(3)
	r := q.end()
	edit(t, r.all()[0], func(db *database) {
		session, from := int64(0), moments[0].Time.UnixNano()+1
		db.each(func(rows *sql.Rows) error { return rows.Scan(&session) }, "SELECT session FROM sessions")
		db.exec("INSERT INTO ticks (session, from_ns, to_ns, codec, data) VALUES (?, ?, ?, ?, ?)", session, from, from, codecChecked, appendChunk(nil, session, from, new(store.Block)))
	})
	got := 0
	if err := r.Moments(moments[0].Time.Add(-1), q.now.Add(1), func(*snapshot.Snapshot) { got++ }); err != nil || got != len(moments) {
		t.Errorf("%d moments, %v", got, err)
	}
}

// TestMomentsAreDescribedAnew: each description of the box is used for five minutes.
func TestMomentsAreDescribedAnew(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	first := q.now.Add(time.Second)
	for second := range 310 {
		if second == 10 {
			q.snap.Host.Name = "renamed"
		}
		q.w.write(tick{q.after(time.Second), nil})
	}
	names := make(map[string]int)
	err := q.end().Moments(first, q.now, func(s *snapshot.Snapshot) {
		names[s.Host.Name]++
		if s.Host.Name == "box" != s.Time.Before(first.Add(describeEvery)) {
			t.Errorf("after %v the host is %s", s.Time.Sub(first), s.Host.Name)
		}
	})
	if err != nil || names["box"] != 300 || names["renamed"] != 9 {
		t.Errorf("%v, %v", names, err)
	}
}

// TestAnInstanceOfTheWholeGPUIsNotTheGPU: the only instance of a GPU may have the IDs 0 and 0.
func TestAnInstanceOfTheWholeGPUIsNotTheGPU(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	snap := q.next()
	gpu := &snap.GPUs[1]
	gpu.MIG, gpu.Memory.Used = true, quantity.From(7*quantity.GiB, quantity.Driver)
	gpu.Instances = []snapshot.Instance{{ID: snapshot.InstanceID{MIG: true}, Memory: snapshot.Memory{Used: quantity.From(3*quantity.GiB, quantity.Driver)}}}
	q.w.write(tick{snap, nil})
	got := map[bool]quantity.Bytes{}
	err := q.end().Readings(snap.Time, snap.Time.Add(1), func(x *Reading) error {
		if used, ok := x.Value(metric.Used); ok && x.Process == nil && x.GPUUUID == gpu.UUID {
			got[x.Instance.MIG] = quantity.Bytes(used)
		}
		return nil
	})
	if want := map[bool]quantity.Bytes{false: 7 * quantity.GiB, true: 3 * quantity.GiB}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// TestProcessThatIsMissingInADamagedDay: its figures are not those of its GPU, and the other processes stay.
func TestProcessThatIsMissingInADamagedDay(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	moments := q.record(10)
	r := q.end()
	edit(t, r.all()[0], func(db *database) { db.exec("DELETE FROM processes WHERE pid = ?", moments[0].Rows[0].ID.Process.PID) })
	err := r.Moments(moments[0].Time, q.now, func(s *snapshot.Snapshot) {
		if len(s.Rows) != len(moments[0].Rows)-1 {
			t.Errorf("%d rows at %v", len(s.Rows), s.Time)
		}
	})
	gpus, processes := 0, 0
	readings := r.Readings(moments[0].Time, q.now.Add(1), func(x *Reading) error {
		if x.Process != nil {
			processes++
		} else {
			gpus++
		}
		return nil
	})
	if err := errors.Join(err, readings); err != nil || gpus != 2*len(moments) || processes != 5*len(moments) {
		t.Errorf("%d readings of GPUs, %d of processes, %v", gpus, processes, err)
	}
}

// TestTickThatIsSealedMeanwhileIsReadOnce: a reader may read the tail just before the writer seals it.
func TestTickThatIsSealedMeanwhileIsReadOnce(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	moments := q.record(3)
	d := q.w.day
	d.exec("CREATE TEMP TABLE before AS SELECT * FROM tail")
	d.seal()
	d.exec("INSERT INTO tail SELECT * FROM before")
	if err := d.commit(); err != nil {
		t.Fatal(err)
	}
	seen := 0
	if err := read(t, q.w.directory).Moments(moments[0].Time, q.now.Add(1), func(*snapshot.Snapshot) { seen++ }); err != nil || seen != len(moments) {
		t.Errorf("%d moments of %d, %v", seen, len(moments), err)
	}
	q.end()
}
