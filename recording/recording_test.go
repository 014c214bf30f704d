package recording

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// A recording shows every moment as the sampler's own history does, across midnight and in the tail.
func TestRecordingEqualsTheLiveHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	b := newBox(t, Options{FullCommands: true})
	var moments []time.Time
	for range 500 {
		moments = append(moments, b.tick(time.Second).Time)
	}
	b.writer.commit()
	live, whileWriting := b.sampler.History(), read(t, b.writer.directory)
	compare(t, whileWriting, live, moments)
	compare(t, b.close(), live, moments)
}

func compare(t *testing.T, got, want snapshot.History, moments []time.Time) {
	t.Helper()
	oldest, newest := got.Span()
	if !oldest.Equal(moments[0]) || !newest.Equal(moments[len(moments)-1]) {
		t.Fatalf("span %v to %v", oldest, newest)
	}
	keys := make(map[snapshot.SeriesKey]bool)
	for i, at := range moments {
		if i%13 != 0 {
			continue
		}
		g, ok := got.At(at)
		w, had := want.At(at)
		if !ok || !had {
			t.Fatalf("at %v: %v, want %v", at, ok, had)
		}
		sameMoment(t, g, w)
		for j := range w.Rows {
			keys[snapshot.SeriesKey{Metric: metric.ID(i) % metric.Count, Row: w.Rows[j].ID}] = true
		}
		for j := range w.GPUs {
			keys[snapshot.SeriesKey{Metric: metric.ID(i) % metric.Count, GPUUUID: w.GPUs[j].UUID}] = true
		}
	}
	for key := range keys {
		from, to := oldest.Add(17*time.Second), newest.Add(-5*time.Second)
		for _, n := range []int{1, 40, 600} {
			g, w := got.Series(key, from, to, n), want.Series(key, from, to, n)
			for i := range w {
				if !g[i].Time.Equal(w[i].Time) || g[i].Known != w[i].Known || g[i].Min != w[i].Min || g[i].Max != w[i].Max || g[i].Last != w[i].Last {
					t.Fatalf("%+v: point %d of %d is\n%+v, want\n%+v", key, i, n, g[i], w[i])
				}
			}
		}
	}
	g, w := got.Events(0), want.Events(0)
	if len(g) != len(w) {
		t.Fatalf("%d events, want %d", len(g), len(w))
	}
	for i := range w {
		if !g[i].Time.Equal(w[i].Time) || g[i].Kind != w[i].Kind || g[i].Row != w[i].Row || g[i].GPUUUID != w[i].GPUUUID || g[i].Message != w[i].Message {
			t.Fatalf("event %d is\n%+v, want\n%+v", i, g[i], w[i])
		}
	}
}

// sameMoment compares what a recording keeps.
func sameMoment(t *testing.T, got, want *snapshot.Snapshot) {
	t.Helper()
	if !got.Past || !got.Simulated || !got.Time.Equal(want.Time) || got.Interval != want.Interval || got.Host.Name != want.Host.Name {
		t.Fatalf("at %v: %+v", want.Time, got)
	}
	if len(got.GPUs) != len(want.GPUs) || len(got.Rows) != len(want.Rows) || len(got.Alerts) != len(want.Alerts) {
		t.Fatalf("at %v: %d GPUs, %d rows, %d alerts, want %d, %d, %d", want.Time,
			len(got.GPUs), len(got.Rows), len(got.Alerts), len(want.GPUs), len(want.Rows), len(want.Alerts))
	}
	for i := range want.GPUs {
		g, w := got.GPUs[i], want.GPUs[i]
		if g.UUID != w.UUID || g.Name != w.Name || g.State != w.State || g.Memory != w.Memory || g.Parts != w.Parts || !reflect.DeepEqual(g.Sensors, w.Sensors) ||
			g.ProcessCount != w.ProcessCount || g.Unattributed != w.Unattributed || len(g.Instances) != len(w.Instances) {
			t.Fatalf("at %v: GPU\n%+v, want\n%+v", want.Time, g, w)
		}
		for j := range w.Instances {
			if !reflect.DeepEqual(g.Instances[j], w.Instances[j]) {
				t.Fatalf("at %v: instance\n%+v, want\n%+v", want.Time, g.Instances[j], w.Instances[j])
			}
		}
	}
	for i := range want.Rows {
		g, w := got.Rows[i], want.Rows[i]
		if g.ID != w.ID || g.User != w.User || g.Name != w.Name || !reflect.DeepEqual(g.Command, w.Command) || g.Job != w.Job || g.Used != w.Used ||
			g.Allocated != w.Allocated || g.Cached != w.Cached || g.Fragmented != w.Fragmented || g.Returnable != w.Returnable ||
			g.Other.Or(0) != w.Other.Or(0) || g.Other.Known() != w.Other.Known() || g.Host != w.Host || g.CPU != w.CPU || g.SMUtilization != w.SMUtilization {
			t.Fatalf("at %v: row\n%+v, want\n%+v", want.Time, g, w)
		}
	}
}

// EventsUntil returns all events up to a moment, also those of the day before.
func TestEventsUntil(t *testing.T) {
	b := newBox(t, Options{})
	for range 500 { // past midnight
		b.tick(time.Second)
	}
	r := b.close()
	all := r.Events(0)
	for _, i := range []int{0, 1, len(all) / 2, len(all) - 1} {
		first := slices.IndexFunc(all, func(e snapshot.Event) bool { return !e.Time.After(all[i].Time) })
		for _, limit := range []int{0, 1, 3} {
			want := all[first:]
			if limit > 0 {
				want = want[:min(limit, len(want))]
			}
			if got := r.EventsUntil(all[i].Time, limit); !slices.EqualFunc(got, want, sameEvent) {
				t.Errorf("until event %d, %d at most: %d events, want %d", i, limit, len(got), len(want))
			}
		}
	}
}

func sameEvent(a, b snapshot.Event) bool {
	return a.Time.Equal(b.Time) && a.Kind == b.Kind && a.Row == b.Row && a.Message == b.Message
}

// EventsBeside finds the next and the previous moment with events, also across midnight.
func TestEventsBeside(t *testing.T) {
	b := newBox(t, Options{})
	for range 500 { // past midnight
		b.tick(time.Second)
	}
	r := b.close()
	all := r.Events(0) // newest first
	for i := range all {
		at := all[i].Time
		later := slices.DeleteFunc(slices.Clone(all), func(e snapshot.Event) bool { return !e.Time.After(at) })
		earlier := slices.DeleteFunc(slices.Clone(all), func(e snapshot.Event) bool { return !e.Time.Before(at) })
		for _, c := range []struct {
			forward bool
			of      []snapshot.Event
			moment  int
		}{{true, later, len(later) - 1}, {false, earlier, 0}} {
			var want []snapshot.Event
			if len(c.of) > 0 {
				want = slices.DeleteFunc(slices.Clone(c.of), func(e snapshot.Event) bool { return !e.Time.Equal(c.of[c.moment].Time) })
			}
			if got := r.EventsBeside(at, c.forward); !slices.EqualFunc(got, want, sameEvent) {
				t.Fatalf("beside %v, forward %v: %d events, want %d", at, c.forward, len(got), len(want))
			}
		}
		of := slices.DeleteFunc(slices.Clone(all), func(e snapshot.Event) bool { return e.Kind != all[i].Kind })
		if got := r.EventsOf(all[i].Kind, 0); !slices.EqualFunc(got, of, sameEvent) {
			t.Fatalf("%s: %d events, want %d", all[i].Kind, len(got), len(of))
		}
	}
}

func TestClockIsSet(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	q := newQuiet(t, t.TempDir(), Options{})
	q.now = q.now.Add(12 * time.Hour)
	early := q.record(300)
	q.now = q.now.Add(-200 * time.Second)
	again := q.record(300)
	q.now = q.now.Add(time.Hour)
	late := q.record(20)
	q.now = q.now.Add(-26 * time.Hour) // to another day
	before := q.record(10)
	r := q.end()
	has(t, r, early[:99])
	has(t, r, again)
	has(t, r, late)
	has(t, r, before)
	last := again[len(again)-1]
	if then, ok := r.At(last.Time.Add(30 * time.Minute)); !ok || !then.Time.Equal(last.Time) {
		t.Errorf("in the gap: %v, %v, want the moment before it, %v", ok, then.Time, last.Time)
	}
	key := snapshot.SeriesKey{Metric: metric.Used, Row: q.snap.Rows[0].ID}
	for i, p := range r.Series(key, last.Time.Add(time.Second), late[0].Time.Add(-time.Second), 20) {
		if p.Known {
			t.Errorf("point %d of the gap is known: %+v", i, p)
		}
	}
	// 200 seconds were recorded twice. Only the second samples of that time are read: 400 in all.
	points := r.Series(key, early[0].Time.Add(-time.Second), last.Time, len(early)+len(again))
	known := 0
	for _, p := range points {
		if p.Known {
			known++
		}
	}
	if known < 380 || known > 420 {
		t.Errorf("%d known points of %d", known, len(points))
	}
}

// A day that cannot be read is not kept open.
func TestUnreadableDayIsClosed(t *testing.T) {
	directory := t.TempDir()
	blank, missing := filepath.Join(directory, "blank.db"), filepath.Join(directory, "missing.db")
	if err := os.WriteFile(blank, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{blank, missing} {
		if _, err := openReader(path); err == nil {
			t.Errorf("%s is read", path)
		}
	}
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range open {
		if to, _ := os.Readlink(fd); to == blank {
			t.Errorf("%s is still open", to)
		}
	}
}

func TestSeriesWithoutBuckets(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	first := q.record(3)[0]
	if points := q.end().Series(snapshot.SeriesKey{Metric: metric.Used, Row: first.Rows[0].ID}, first.Time.Add(-1), q.now, 0); len(points) != 0 {
		t.Errorf("%+v", points)
	}
}

// A box without GPUs and processes, whose driver does not answer, is recorded.
func TestBoxWithoutAGPUIsRecorded(t *testing.T) {
	w, err := newWriter(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		at := start.Add(time.Duration(i) * time.Second)
		w.write(tick{&snapshot.Snapshot{Time: at, Interval: time.Second, Driver: snapshot.Driver{State: snapshot.DriverAbsent}}, nil})
		if s := w.State(); s.Paused {
			t.Fatalf("recording is paused: %s", s.Reason)
		}
	}
	w.commit()
	r := read(t, w.directory)
	for _, i := range []int{0, 100, 299} {
		at := start.Add(time.Duration(i) * time.Second)
		if then, ok := r.At(at); !ok || !then.Time.Equal(at) || then.Driver.State != snapshot.DriverAbsent {
			t.Errorf("at %v: %+v", at, then)
		}
	}
}

func TestReaderDuringWriting(t *testing.T) {
	directory := t.TempDir()
	w, err := Create(directory, Options{})
	if err != nil {
		t.Fatal(err)
	}
	box := newSynthetic(2, 3)
	ended := make(chan []*snapshot.Snapshot)
	stop := make(chan struct{})
	go func() {
		var moments []*snapshot.Snapshot
		for {
			select {
			case <-stop:
				ended <- moments
				return
			default:
			}
			snap := box.next()
			if w.Append(snap, nil) == nil {
				moments = append(moments, snap)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	var r *Recording
	eventually(t, func() bool { r, err = Open(directory); return err == nil })
	newest := time.Time{}
	eventually(t, func() bool { // through several blocks
		oldest, now := r.Span()
		if now.Before(newest) {
			t.Fatalf("the span ends at %v after %v", now, newest)
		}
		newest = now
		then, ok := r.At(now)
		if !now.IsZero() && (!ok || len(then.Rows) != 6) {
			t.Fatalf("at %v: %v %+v", now, ok, then)
		}
		return now.Sub(oldest) > 200*time.Second
	})
	close(stop)
	moments := <-ended
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	has(t, r, moments)
	if problems := r.Problems(); len(problems) > 0 {
		t.Error(problems)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// TestAlertsThatBeginLater: an alert that begins later is recorded beside the active ones.
func TestAlertsThatBeginLater(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	alerts := []snapshot.Alert{{Kind: snapshot.AlertECC, GPUUUID: q.snap.GPUs[0].UUID}, {Kind: snapshot.AlertECC, GPUUUID: q.snap.GPUs[1].UUID}}
	for n := range 3 {
		q.snap.Alerts = alerts[:n]
		q.record(1)
	}
	then, ok := q.end().At(q.now)
	if !ok || len(then.Alerts) != 2 {
		t.Errorf("%v, %+v", ok, then.Alerts)
	}
}

// TestAlertWhoseProcessBecomesKnown: the alert stays one alert, and gets the process. Other alerts stay as they are.
func TestAlertWhoseProcessBecomesKnown(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	alert := snapshot.Alert{Kind: snapshot.AlertFullIn, GPUUUID: q.snap.GPUs[0].UUID}
	for i := range 3 {
		if i == 2 {
			alert.Row = q.snap.Rows[0].ID
		}
		q.snap.Alerts = []snapshot.Alert{alert, {Kind: snapshot.AlertECC, GPUUUID: alert.GPUUUID}}
		q.record(1)
	}
	then, ok := q.end().At(q.now)
	if !ok || len(then.Alerts) != 2 || then.Alerts[0].Row != alert.Row {
		t.Errorf("%v, %+v", ok, then.Alerts)
	}
}

// TestDamagedDayHidesNoOther: a day that cannot be read does not hide the events and moments of other days.
func TestDamagedDayHidesNoOther(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	var events []snapshot.Event
	for i := range 3 {
		snap := q.next()
		e := snapshot.Event{Time: snap.Time, Kind: snapshot.EventFlush, Message: strconv.Itoa(i)}
		q.w.write(tick{snap, []snapshot.Event{e}})
		q.w.commit()
		events = append(events, e)
		q.now = q.now.Add(24 * time.Hour)
	}
	paths, err := days(q.w.directory)
	if err := errors.Join(err, q.w.end()); err != nil || len(paths) != 3 {
		t.Fatal(paths, err)
	}
	if err := os.WriteFile(paths[1], []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(q.w.directory)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }() // r was only read
	if then, ok := r.At(events[1].Time); !ok || !then.Time.Equal(events[0].Time) {
		t.Errorf("on the damaged day: %v, %+v", ok, then)
	}
	for name, c := range map[string]struct {
		got  []snapshot.Event
		want []snapshot.Event
	}{
		"of a kind": {r.EventsOf(snapshot.EventFlush, 0), []snapshot.Event{events[2], events[0]}},
		"forward":   {r.EventsBeside(events[0].Time, true), events[2:]},
		"backward":  {r.EventsBeside(events[2].Time, false), events[:1]},
	} {
		if !slices.EqualFunc(c.got, c.want, sameEvent) {
			t.Errorf("%s: %+v", name, c.got)
		}
	}
}

// TestLateEventOfTheNextDay: an event may be recorded in the day after its own.
func TestLateEventOfTheNextDay(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	q.now = start.Add(4*time.Minute - 10*time.Second)
	midnight := start.Add(4 * time.Minute)
	for _, times := range [][]time.Time{{midnight.Add(-9 * time.Second), midnight.Add(-2 * time.Second)}, {midnight.Add(-5 * time.Second), midnight.Add(-5 * time.Second), midnight.Add(time.Second)}} {
		var events []snapshot.Event
		for _, at := range times {
			events = append(events, snapshot.Event{Time: at, Kind: snapshot.EventFlush})
		}
		q.w.write(tick{q.after(9 * time.Second), events})
	}
	r := q.end()
	at, seen := midnight.Add(-time.Hour), []time.Duration{}
	for {
		events := r.EventsBeside(at, true)
		if len(events) == 0 {
			break
		}
		at = events[0].Time
		for range events {
			seen = append(seen, at.Sub(midnight))
		}
	}
	if want := []time.Duration{-9 * time.Second, -5 * time.Second, -5 * time.Second, -2 * time.Second, time.Second}; !slices.Equal(seen, want) {
		t.Errorf("%v, want %v", seen, want)
	}
}

// TestMomentBetweenTicks: a moment up to three intervals after a tick has its own time, a later one the tick's.
func TestMomentBetweenTicks(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	q.record(3)
	r := q.end()
	for after, want := range map[time.Duration]time.Duration{0: 0, 1: 1, 3 * time.Second: 3 * time.Second, 3*time.Second + 1: 0} {
		if then, ok := r.At(q.now.Add(after)); !ok || then.Time.Sub(q.now) != want || then.Sequence != uint64(q.now.UnixNano()) {
			t.Errorf("%v after the tick: %v, %v", after, ok, then.Time.Sub(q.now))
		}
	}
}

// TestSeriesHasTheSamplesUpToItsEnd: a series has the samples after its beginning, up to its end, in the tail
// and in what is sealed.
func TestSeriesHasTheSamplesUpToItsEnd(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	instance := snapshot.InstanceID{MIG: true, GPU: 3}
	q.snap.GPUs[1].Instances = []snapshot.Instance{{ID: instance, Memory: snapshot.Memory{Used: driver(1 << 30)}}}
	moments := q.record(4)
	check := func(kind string, r *Recording) {
		for name, key := range map[string]snapshot.SeriesKey{
			"process": {Metric: metric.Used, Row: q.snap.Rows[0].ID}, "GPU": {Metric: metric.Used, GPUUUID: q.snap.GPUs[1].UUID},
			"instance": {Metric: metric.Used, GPUUUID: q.snap.GPUs[1].UUID, Instance: instance},
		} {
			for i, m := range moments {
				for from, want := range map[time.Duration]bool{-2: false, -1: true, 0: false} {
					if p := r.Series(key, m.Time.Add(from), m.Time.Add(from+1), 1)[0]; p.Known != want {
						t.Errorf("%s, %s, tick %d: in the nanosecond %+d after it: %+v", kind, name, i, from+1, p)
					}
				}
			}
			if p := r.Series(key, q.now, moments[0].Time, 1)[0]; p.Known {
				t.Errorf("%s, %s: backwards: %+v", kind, name, p)
			}
		}
	}
	check("tail", read(t, q.w.directory))
	check("sealed", q.end())
}

// TestDaysBetween: GPUs lists only those of the days asked for. A single file may have any name.
func TestDaysBetween(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	var moments []*snapshot.Snapshot
	for range 3 {
		moments = append(moments, q.record(1)...)
		q.now = q.now.Add(24 * time.Hour)
	}
	r := q.end()
	day := moments[1].Time
	if gpus, err := r.GPUs(day, day); err != nil || len(gpus) != len(moments[1].GPUs) {
		t.Errorf("%d GPUs on a day: %v", len(gpus), err)
	}
	single := filepath.Join(t.TempDir(), "saved"+suffix)
	if err := os.Rename(filepath.Join(q.w.directory, fileOf(day)), single); err != nil {
		t.Fatal(err)
	}
	has(t, read(t, single), moments[1:2])
}
