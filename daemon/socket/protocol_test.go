package socket

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/metric"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

func TestRequestsAreChecked(t *testing.T) {
	_, s := serve(t, newBox(), mustShare(t, "none"))
	for request, want := range map[string]string{
		`x`:                      "a request is a JSON object",
		`[]`:                     "a request is a JSON object",
		`{}`:                     "no such command",
		`{"id":7,"cmd":"flush"}`: `{"id":7,"ok":false,"error":{"code":"unknown_command"`,
		`{"id":1,"cmd":"hello","proto":"vramscope-daemon/2"}`:                                                                      "wrong_version",
		`{"id":1,"cmd":"hello","proto":"vramscope-daemon/1.3"}`:                                                                    `"ok":true`,
		`{"id":1,"cmd":"series","metric":"used_bytes","gpu":"GPU-1","from_ns":1,"to_ns":2,"buckets":1000000000}`:                   "buckets is",
		`{"id":1,"cmd":"series","metric":"used_bytes","gpu":"GPU-1","from_ns":2,"to_ns":1,"buckets":1}`:                            "is no time",
		`{"id":1,"cmd":"series","metric":"used_bytes","gpu":"GPU-1","from_ns":1,"to_ns":3600000000000001,"buckets":1}`:             "is 1000h0m0s: at most 192h0m0s",
		`{"id":1,"cmd":"series","metric":"nothing","gpu":"GPU-1","from_ns":1,"to_ns":2,"buckets":1}`:                               "no such metric",
		`{"id":1,"cmd":"series","metric":"used_bytes","gpu":"` + strings.Repeat("x", 100) + `","from_ns":1,"to_ns":2,"buckets":1}`: "gpu has 100 bytes",
		`{"id":1,"cmd":"at","time_ns":1}`: "not_found",
	} {
		got := string(s.reply([]byte(request), false))
		if !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %s", request, got)
		}
	}
}

// TestLimitsOfARequest: a value equal to a limit is allowed.
func TestLimitsOfARequest(t *testing.T) {
	series := func(from, to int64, buckets int) request {
		return request{Cmd: cmdSeries, Metric: "used_bytes", GPU: "GPU-1", FromNS: from, ToNS: to, Buckets: buckets}
	}
	rescue := func(gpu string, bytes int64) request { return request{Cmd: cmdRescue, GPU: gpu, Bytes: bytes} }
	for _, c := range []struct {
		within, beyond request
	}{
		{request{ID: 1 << 53}, request{ID: 1<<53 + 1}},
		{request{ForNS: int64(maxPause)}, request{ForNS: int64(maxPause) + 1}},
		{request{ForNS: 0}, request{ForNS: -1}},
		{request{GPU: strings.Repeat("x", maxUUID)}, request{GPU: strings.Repeat("x", maxUUID+1)}},
		{rescue("GPU-1", 1), rescue("GPU-1", 0)},
		{rescue("GPU-1", maxAsked), rescue("GPU-1", maxAsked+1)},
		{rescue("GPU-1", 1), rescue("", 1)},
		{request{WaitedMS: 0}, request{WaitedMS: -1}},
		{series(1, 2, 1), series(1, 2, 0)},
		{series(1, 2, maxBuckets), series(1, 2, maxBuckets+1)},
		{series(1, 2, 1), series(1, 1, 1)},
		{series(0, 2, 1), series(-1, 2, 1)},
		{series(1, 1+int64(maxSpan), 1), series(1, 2+int64(maxSpan), 1)},
	} {
		if err := c.within.check(); err != nil {
			t.Errorf("%+v: %v", c.within, err)
		}
		if c.beyond.check() == nil {
			t.Errorf("%+v is no failure", c.beyond)
		}
	}
}

// asked keeps how many events it was asked for.
type asked struct {
	snapshot.History
	limit int
}

func (a *asked) Events(limit int) []snapshot.Event {
	a.limit = limit
	return nil
}

// TestEventsHaveALimit: the limit also applies to a client that asks for all events.
func TestEventsHaveALimit(t *testing.T) {
	for limit, want := range map[int]int{0: maxEvents, -1: maxEvents, 1: 1, maxEvents: maxEvents, maxEvents + 1: maxEvents} {
		history := &asked{}
		s := &Server{options: Options{History: history}}
		if s.events(limit, true); history.limit != want {
			t.Errorf("%d: the history is asked for %d", limit, history.limit)
		}
	}
}

// FuzzRequest: whatever a client sends is answered with JSON and a newline. The answer shows a secret
// only to the owner.
func FuzzRequest(f *testing.F) {
	for line := range strings.Lines(everything()) {
		f.Add([]byte(line), true)
	}
	f.Add([]byte(`{"id":1,"cmd":"series","metric":"used_bytes","gpu":"GPU-1","pid":1,"from_ns":1,"to_ns":2,"buckets":3,"gpu_instance":1,"compute_instance":0}`), false)
	b := newBox()
	s := &Server{options: Options{
		Latest: b.latest.Load, Answers: func() []probe.Answer { return b.answers },
		History: history{snapshottest.History(b.latest.Load())}, Status: func() Status { return Status{} },
	}}
	f.Fuzz(func(t *testing.T, line []byte, owner bool) {
		got := s.reply(line, owner)
		if !json.Valid(got) || got[len(got)-1] != '\n' {
			t.Errorf("%q is answered %q", line, got)
		}
		if !owner && strings.Contains(string(got), secret) && !strings.Contains(string(line), secret) {
			t.Errorf("%q shows a secret: %s", line, got)
		}
	})
}

// FuzzAnswer: whatever a daemon sends, a monitor takes no report of a foreign process or from the future.
func FuzzAnswer(f *testing.F) {
	b := newBox()
	s := &Server{options: Options{
		Latest: b.latest.Load, Answers: func() []probe.Answer { return b.answers },
		History: history{snapshottest.History(b.latest.Load())}, Status: func() Status { return Status{} },
	}}
	for line := range strings.Lines(everything()) {
		f.Add(s.reply([]byte(line), true))
	}
	f.Add([]byte(`{"id":1,"ok":true,"processes":[{"pid":1,"start_time_ticks":1,"time_ns":1,"devices":[{"uuid":"GPU-1","allocators":[{"kind":"x","reserved_bytes":-1}]}]}],"points":[null,[1,2,3]]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var a answer
		if decode(line, &a) != nil {
			return
		}
		now := time.Now()
		for i := range a.Processes {
			one, err := a.Processes[i].Answer(now)
			if err != nil {
				continue
			}
			if one.Process.Foreign() || one.At.After(now) || !one.Daemon || len(one.Hello.Capabilities) > 0 {
				t.Errorf("taken: %+v", one)
			}
		}
		for i := range a.Events {
			e := a.Events[i].snapshot()
			_ = e.Message
		}
	})
}

func TestSeriesRequestNamesItsSeries(t *testing.T) {
	in := snapshot.InstanceID{MIG: true, GPU: 3, Compute: 0}
	for _, key := range []snapshot.SeriesKey{
		{Metric: metric.Used, GPUUUID: "GPU-1"},
		{Metric: metric.Used, GPUUUID: "GPU-1", Instance: in},
		{Metric: metric.Cached, GPUUUID: "GPU-1", Row: snapshot.RowID{Process: process.Identity{PID: 1, StartTime: 2, Namespace: 3}, GPUUUID: "GPU-1"}},
		{Metric: metric.CPU, GPUUUID: "GPU-1", Instance: in, Row: snapshot.RowID{Process: process.Identity{PID: 1, StartTime: 2}, GPUUUID: "GPU-1", Instance: in}},
	} {
		r := seriesRequest(key, time.Unix(1, 0), time.Unix(2, 0), 5)
		if r.key() != key || r.check() != nil {
			t.Errorf("%+v: %+v, %v", key, r.key(), r.check())
		}
	}
}

// TestEventOfNoProcessNamesNone: an event of a GPU, for example, names no process.
func TestEventOfNoProcessNamesNone(t *testing.T) {
	for _, row := range []snapshot.RowID{{}, {Process: process.Identity{PID: 1, StartTime: 2}, GPUUUID: "GPU-1"}} {
		e := eventOf(&snapshot.Event{Kind: snapshot.EventXID, GPUUUID: "GPU-1", Row: row})
		if got := e.snapshot(); got.Row != row || got.GPUUUID != "GPU-1" {
			t.Errorf("%+v, want %+v", got, row)
		}
	}
}

func TestEventKeepsTheAllocationThatFailed(t *testing.T) {
	want := failedAllocation
	line, err := json.Marshal(eventOf(&snapshot.Event{Kind: snapshot.EventOutOfMemory, OutOfMemory: &want}))
	if err != nil {
		t.Fatal(err)
	}
	var got event
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatal(err)
	}
	of := got.snapshot().OutOfMemory
	if of == nil || of.Requested.Or(0) != want.Requested.Or(0) || of.Free.Or(0) != want.Free.Or(0) || of.Limit.Known() || of.Library != want.Library {
		t.Errorf("%+v, want %+v", of, want)
	}
}
