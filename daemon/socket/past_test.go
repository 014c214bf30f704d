package socket

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"vramscope/metric"
	"vramscope/sampler"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
)

// counted counts the queries that reach a history.
type counted struct {
	snapshot.History
	series atomic.Int64
	takes  time.Duration
}

func (c *counted) Series(key snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	c.series.Add(1)
	time.Sleep(c.takes)
	return c.History.Series(key, from, to, buckets)
}

// past returns a simulated hour, and the same hour read through a socket.
func past(t *testing.T) (theirs *counted, mine *Past, latest *snapshot.Snapshot) {
	t.Helper()
	now := time.Now().Truncate(time.Second)
	at := now.Add(-time.Hour)
	clock := func() time.Time { return at }
	box := simulator.New(simulator.Options{Clock: clock})
	s := sampler.New(sampler.Options{Devices: box, Probes: box, Processes: box, Clock: clock, Simulated: true, Deadline: time.Minute})
	for ; !at.After(now); at = at.Add(5 * time.Second) {
		latest = s.Tick(at)
	}
	theirs = &counted{History: s.History()}
	directory, err := os.MkdirTemp("", "vs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	server, err := Listen(Options{Directory: directory, Share: Share{0o600, -1}, Latest: s.Latest, History: theirs, Status: func() Status { return Status{} }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); server.Serve(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	client, err := Dial(ctx, []Place{{directory, uint32(os.Geteuid())}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	mine = NewPast(NewReader(fixed(nil), []Place{}, time.Now))
	mine.client = func() (*Client, error) { return client, nil }
	return theirs, mine, latest
}

// TestPastIsTheDaemons: a monitor reads over the socket exactly what the daemon has.
func TestPastIsTheDaemons(t *testing.T) {
	theirs, mine, latest := past(t)
	oldest, newest := theirs.Span()
	from, to := mine.Span()
	if !from.Equal(oldest) || !to.Equal(newest) {
		t.Errorf("span %s to %s, want %s to %s", from, to, oldest, newest)
	}
	then := newest.Add(-20 * time.Minute)
	want, _ := theirs.At(then)
	got, ok := mine.At(then)
	if !ok || !got.Past || !got.Simulated || len(got.Rows) != len(want.Rows) || len(got.GPUs) != len(want.GPUs) {
		t.Fatalf("at %s: %t, %+v", then, ok, got)
	}
	for i := range want.Rows {
		w := &want.Rows[i]
		g := got.Row(w.ID)
		if g == nil || g.Used.Or(-1) != w.Used.Or(-1) || g.Cached.Or(-1) != w.Cached.Or(-1) || g.Name != w.Name || g.Other.Or(-1) != w.Other.Or(-1) {
			t.Errorf("row %+v: got %+v", w, g)
		}
	}
	for i := range want.GPUs {
		if w, g := &want.GPUs[i], got.GPU(want.GPUs[i].UUID); g == nil || g.Parts.Allocated.Or(-1) != w.Parts.Allocated.Or(-1) || g.Utilization.Or(-1) != w.Utilization.Or(-1) {
			t.Errorf("GPU %d: parts %+v, want %+v", i, g.Parts, w.Parts)
		}
	}
	if _, ok := mine.At(oldest.Add(-time.Hour)); ok {
		t.Error("a moment before the daemon began")
	}
	if got, want := mine.Events(5), theirs.Events(5); len(got) != len(want) || len(got) > 0 && got[0].Message != want[0].Message {
		t.Errorf("events %+v, want %+v", got, want)
	}
	// Graphs are equal to the byte, even if a single answer cannot contain all points.
	row := latest.Rows[0].ID
	for _, key := range []snapshot.SeriesKey{{Metric: metric.Used, GPUUUID: latest.GPUs[0].UUID}, {Metric: metric.Used, GPUUUID: row.GPUUUID, Row: row}} {
		for _, c := range []struct {
			width   time.Duration
			buckets int
		}{{5 * time.Second, 30}, {7 * time.Second, 31}, {time.Minute, 30}, {time.Second, maxBuckets + 100}, {3 * time.Second, 2 * maxBuckets}} {
			start := newest.Add(-time.Duration(c.buckets) * c.width)
			got, want := mine.Series(key, start, newest, c.buckets), theirs.History.Series(key, start, newest, c.buckets)
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("%v, %s: point %d: got %+v, want %+v", key.Metric, c.width, i, got[i], want[i])
				}
			}
		}
	}
}

// TestPastAsksForWhatThereIs: Past asks for no time before or after the daemon's span.
func TestPastAsksForWhatThereIs(t *testing.T) {
	theirs, mine, latest := past(t)
	_, newest := theirs.Span()
	oldest, before := newest.Add(-time.Hour), theirs.series.Load()
	for _, from := range []time.Time{oldest.Add(-10 * time.Hour), newest.Add(10 * time.Hour)} {
		for _, point := range mine.Series(snapshot.SeriesKey{Metric: metric.Used, GPUUUID: latest.GPUs[0].UUID}, from, from.Add(5*time.Minute), 100) {
			if point.Known {
				t.Errorf("from %s on: %+v", from, point)
			}
		}
	}
	if asked := theirs.series.Load() - before; asked != 0 {
		t.Errorf("outside of the history it asks %d times", asked)
	}
}

// TestPastOfASlowDaemon: a daemon that reads a recording, or whose user has used up the budget,
// answers slowly. The connection, which also carries the reports, stays open.
func TestPastOfASlowDaemon(t *testing.T) {
	theirs, mine, latest := past(t)
	theirs.takes = 400 * time.Millisecond
	_, newest := theirs.Span()
	points := mine.Series(snapshot.SeriesKey{Metric: metric.Used, GPUUUID: latest.GPUs[0].UUID}, newest.Add(-time.Minute), newest, 4)
	if !points[0].Known {
		t.Errorf("%+v", points)
	}
	client, _ := mine.client()
	if err := client.hello(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestPastWithoutADaemonIsEmpty(t *testing.T) {
	p := NewPast(NewReader(fixed(nil), []Place{}, time.Now))
	if _, ok := p.At(time.Now()); ok {
		t.Error("there is a moment")
	}
	if oldest, newest := p.Span(); !oldest.IsZero() || !newest.IsZero() {
		t.Error("there is a span")
	}
	if points := p.Series(snapshot.SeriesKey{}, time.Unix(0, 0), time.Unix(10, 0), 5); len(points) != 5 || points[0].Known {
		t.Errorf("%+v", points)
	}
	if points := p.Series(snapshot.SeriesKey{}, time.Unix(0, 0), time.Unix(10, 0), 0); len(points) != 0 {
		t.Errorf("%+v", points)
	}
	if !p.Away() {
		t.Error("no daemon is not away")
	}
}

// spanning returns the past of a daemon that gives these answers, and how often the daemon was
// asked.
func spanning(t *testing.T, answers ...string) (p *Past, asked func() int) {
	t.Helper()
	client, n := answering(t, answers...), 0
	p = NewPast(NewReader(fixed(nil), []Place{}, time.Now))
	p.client = func() (*Client, error) { n++; return client, nil }
	return p, func() int { return n }
}

// TestPastOfADaemonThatHasSeenLittle: the daemon has no history, a single moment, or an impossible
// span.
func TestPastOfADaemonThatHasSeenLittle(t *testing.T) {
	for answer, want := range map[string]int64{
		`{"id":1,"ok":true}`:                             0,
		`{"id":1,"ok":true,"oldest_ns":5,"newest_ns":5}`: 5,
		`{"id":1,"ok":true,"oldest_ns":5,"newest_ns":4}`: 0,
		`{"id":1,"ok":true,"newest_ns":4}`:               0,
	} {
		p, _ := spanning(t, answer)
		oldest, newest := p.Span()
		if oldest.IsZero() != (want == 0) || want != 0 && (oldest.UnixNano() != want || newest.UnixNano() != want) {
			t.Errorf("%s: %v to %v", answer, oldest, newest)
		}
	}
}

// TestPastOfADaemonThatAnswersInPart: a refusal, or an answer with another number of points, leaves its part
// unknown.
func TestPastOfADaemonThatAnswersInPart(t *testing.T) {
	for _, answer := range []string{`{"id":1,"ok":false,"error":{"code":"busy","message":""}}`, `{"id":1,"ok":true,"points":[[1,1,1]]}`} {
		p, _ := spanning(t, answer, `{"id":2,"ok":true,"points":[[7,6,8]]}`)
		p.oldest, p.newest, p.asked = time.Unix(0, 0), time.Unix(maxBuckets+1, 0), time.Now().Add(time.Hour)
		points := p.Series(snapshot.SeriesKey{}, p.oldest, p.newest, maxBuckets+1)
		if last := points[maxBuckets]; points[0].Known || !last.Known || last.Last != 7 || last.Min != 6 || last.Max != 8 {
			t.Errorf("%s: %+v … %+v", answer, points[0], last)
		}
	}
}

// TestPastAsksADaemonThatFailedLater: a refusal is an answer. A daemon that did not answer is asked
// again later.
func TestPastAsksADaemonThatFailedLater(t *testing.T) {
	p, asked := spanning(t, `{"id":1,"ok":false,"error":{"code":"not_found","message":""}}`)
	if _, ok := p.At(time.Unix(1, 0)); ok || p.Away() {
		t.Errorf("a daemon that refuses: %t, away: %t", ok, p.Away())
	}
	before := asked()
	for range 3 { // the daemon has closed the connection
		p.Events(1)
	}
	if n := asked() - before; n != 1 || !p.Away() {
		t.Errorf("a daemon that does not answer is asked %d times at once, away: %t", n, p.Away())
	}
	if p.failed = p.failed.Add(-pastPause); p.Away() {
		t.Error("it is away for ever")
	}
	before = asked()
	if p.Events(1); asked() != before+1 {
		t.Error("it is not asked again")
	}
}
