package alert

import (
	"slices"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

func TestLostGPUIsANotice(t *testing.T) {
	s := newScene()
	s.ticks(3)
	s.calm(t, "before")
	g := s.gpu(1)
	g.State, g.Since, g.LastUsed = snapshot.GPULost, s.now, bytes(41*quantity.GiB)
	s.tick()
	s.expect(t, snapshot.AlertLost, snapshot.Alert{
		Severity: snapshot.Notice, GPU: 1, Since: noon.Add(3 * time.Second),
		Note: "lost, had 41.0G", Message: "GPU 1 lost at 12:00:03, retrying", Advice: "see dmesg | grep -i NVRM",
	})
	g.State = snapshot.GPUError
	g.Message = "ERROR_UNKNOWN"
	s.tick()
	if a := s.alert(snapshot.AlertLost); a == nil || a.Message != "GPU 1 answers with an error since 12:00:03 (ERROR_UNKNOWN)" {
		t.Errorf("got %+v", a)
	}
	g.State = snapshot.GPUOK
	s.tick()
	s.calm(t, "after")
}

func TestOneLateAnswerIsNotHanging(t *testing.T) {
	s := newScene()
	g := s.gpu(0)
	for range 20 {
		g.State = snapshot.GPUHanging
		s.tick()
		s.calm(t, "after one late answer")
		g.State = snapshot.GPUOK
		s.tick()
	}
	for range 5 { // answers that take two and a half seconds each
		g.State = snapshot.GPUHanging
		s.ticks(3)
		s.calm(t, "while it is slow")
		g.State = snapshot.GPUOK
		s.tick()
	}
	g.State = snapshot.GPUHanging
	s.ticks(4)
	if a := s.alert(snapshot.AlertHanging); a == nil || a.Note != "no answer" || a.Severity != snapshot.Notice {
		t.Errorf("got %+v", a)
	}
}

func TestLostDriverIsOneAlert(t *testing.T) {
	s := newScene()
	s.ticks(2)
	s.snap.Driver = snapshot.Driver{State: snapshot.DriverGone, Since: s.now, Message: "DRIVER_NOT_LOADED", ProbesAnswering: 7}
	for i := range s.snap.GPUs {
		s.gpu(i).State = snapshot.GPULost
	}
	s.tick()
	if len(s.standing) != 1 {
		t.Fatalf("got %+v", s.standing)
	}
	s.expect(t, snapshot.AlertDriver, snapshot.Alert{
		Since: noon.Add(2 * time.Second), Note: "no driver",
		Message: "the driver went away at 12:00:02 (DRIVER_NOT_LOADED)", Advice: "probe data only",
	})
	s.snap.Driver = snapshot.Driver{State: snapshot.DriverStarting}
	s.tick()
	s.snap.Driver.State = snapshot.DriverOK
	s.gpu(0).State, s.gpu(1).State = snapshot.GPUOK, snapshot.GPUOK
	s.tick()
	s.calm(t, "when it is back")
}

func TestNewECCErrorsAreUrgent(t *testing.T) {
	s := newScene()
	g := s.gpu(0)
	g.ECC.Uncorrected = errors(0)
	s.tick()
	s.calm(t, "no errors")

	g = s.gpu(1)
	g.ECC.Uncorrected = errors(3)
	s.tick()
	if a := s.alert(snapshot.AlertECC); a == nil || a.Severity != snapshot.Notice || a.GPU != 1 || a.Note != "ECC 3 uncorrectable" {
		t.Errorf("errors from before: %+v", a)
	}
	g.ECC.Uncorrected = errors(5)
	s.tick()
	if a := s.alert(snapshot.AlertECC); a == nil || a.Severity != snapshot.Urgent ||
		a.Message != "GPU 1 has 2 new uncorrectable ECC errors, 5 since the driver was loaded" {
		t.Errorf("new errors: %+v", a)
	}
	g.State, g.ECC = snapshot.GPULost, metric.ECC{}
	s.tick()
	if a := s.alert(snapshot.AlertECC); a == nil || a.Severity != snapshot.Urgent {
		t.Errorf("while it is lost: %+v", a)
	}
	g.State, g.ECC.Uncorrected = snapshot.GPUOK, errors(5)
	s.now = s.now.Add(2 * time.Hour)
	s.tick()
	if a := s.alert(snapshot.AlertECC); a == nil || a.Severity != snapshot.Notice {
		t.Errorf("hours later: %+v", a)
	}
	g.ECC.Uncorrected = errors(0)
	s.tick()
	s.calm(t, "after the reset")
	g.ECC.Uncorrected = errors(123456)
	s.tick()
	if a := s.alert(snapshot.AlertECC); a == nil || len([]rune(a.Note)) > noteCells {
		t.Errorf("many errors: %+v", a)
	}
}

func TestXIDs(t *testing.T) {
	ago := func(s *scene, code uint64, d time.Duration) snapshot.XID {
		return snapshot.XID{Code: code, Time: s.now.Add(-d)}
	}
	for _, tc := range []struct {
		name     string
		codes    map[uint64]time.Duration
		severity snapshot.Severity
		note     string
	}{
		{"a program's fault", map[uint64]time.Duration{31: time.Second}, snapshot.Notice, "Xid 31 page fault"},
		{"damaged memory", map[uint64]time.Duration{48: time.Minute}, snapshot.Urgent, "Xid 48 double-bit ECC"},
		{"the worst, not the newest", map[uint64]time.Duration{31: time.Second, 95: time.Minute, 13: 2 * time.Second}, snapshot.Urgent, "Xid 95 uncontained ECC"},
		{"the newest of equals", map[uint64]time.Duration{63: time.Minute, 94: time.Second}, snapshot.Urgent, "Xid 94 contained ECC"},
		{"unheard of", map[uint64]time.Duration{18446744073709551615: 0}, snapshot.Notice, "Xid 184467440737095516…"[:21]},
		{"long ago", map[uint64]time.Duration{79: 11 * time.Minute}, snapshot.Notice, ""},
	} {
		s := newScene()
		for code, d := range tc.codes {
			s.gpu(0).XIDs = append(s.gpu(0).XIDs, ago(s, code, d))
		}
		s.tick()
		a := s.alert(snapshot.AlertXID)
		if tc.note == "" {
			s.calm(t, tc.name)
			continue
		}
		if a == nil || a.Severity != tc.severity || a.Note[:min(21, len(a.Note))] != tc.note[:min(21, len(tc.note))] {
			t.Errorf("%s: %+v", tc.name, a)
		}
		if a != nil && (len([]rune(a.Note)) > noteCells || a.Advice == "") {
			t.Errorf("%s: note %q, advice %q", tc.name, a.Note, a.Advice)
		}
	}
	for code := range uint64(200) {
		m := snapshot.XID{Code: code}.Meaning()
		if text := "Xid " + decimal(code) + " " + m.Words; len(text) > noteCells || m.Advice == "" {
			t.Errorf("%q is wider than a note, or has no advice", text)
		}
	}
}

func TestThrottlingAlertsAfterThirtySeconds(t *testing.T) {
	s := newScene()
	g := s.gpu(0)
	g.Temperature = quantity.From(91, quantity.Driver)
	for range 10 {
		g.Throttled = []string{"thermal"}
		s.ticks(20)
		s.calm(t, "for 20 s")
		g.Throttled = []string{"power"} // a busy GPU at its limit
		s.ticks(20)
	}
	s.ticks(300)
	s.calm(t, "at the power cap")
	g.Throttled = []string{"power", "thermal", "hardware"}
	s.ticks(31)
	s.expect(t, snapshot.AlertThrottled, snapshot.Alert{
		Since: s.now.Add(-31 * time.Second), Note: "throttled: hardware",
		Message: "GPU 0 is throttled, hardware and thermal, at 91C", Advice: "check its cooling",
	})
	g.Throttled = nil
	s.ticks(29)
	if !s.has(snapshot.AlertThrottled) {
		t.Error("taken down too early")
	}
	s.ticks(10)
	s.calm(t, "when it is cool again")
}

func TestOutOfMemoryIsUrgentForAMinute(t *testing.T) {
	s := newScene()
	s.row(1).Probe.OutOfMemoryCount = count(4) // from before
	s.ticks(5)
	s.calm(t, "old events")
	s.row(1).Probe.OutOfMemoryCount = count(5)
	s.row(1).Returnable = bytes(4 * quantity.GiB)
	s.tick()
	s.expect(t, snapshot.AlertOutOfMemory, snapshot.Alert{
		Severity: snapshot.Urgent, GPU: 1, Row: s.row(1).ID, Since: noon.Add(5 * time.Second),
		Note: "out of memory x1", Message: "GPU 1 out of memory x1, PID 101 bob", Advice: "F on 101 frees 4.00G now",
	})
	s.ticks(30)
	s.row(1).Probe.OutOfMemoryCount = count(7)
	s.ticks(50)
	if a := s.alert(snapshot.AlertOutOfMemory); a == nil || a.Note != "out of memory x3" {
		t.Errorf("got %+v", a)
	}
	s.ticks(20)
	s.calm(t, "a minute after the last")
}

func TestOutOfMemoryStandsAfterTheProcessExits(t *testing.T) {
	s := newScene()
	s.ticks(3)
	dead := *s.row(0)
	s.snap.Rows = s.snap.Rows[1:]
	s.snap.Ended = []snapshot.EndedProcess{{Last: dead, Ended: s.now, OutOfMemoryCount: count(1)}}
	s.tick()
	if a := s.alert(snapshot.AlertOutOfMemory); a == nil || a.Message != "GPU 0 out of memory x1, PID 100 alice, which has exited" {
		t.Fatalf("got %+v", s.standing)
	}
	s.ticks(59)
	if !s.has(snapshot.AlertOutOfMemory) {
		t.Error("not for a minute")
	}
	s.tick()
	s.calm(t, "after a minute")
	if len(s.evaluator.rows) != 1 || len(s.evaluator.latches) != 0 {
		t.Errorf("%d rows and %d latches are remembered", len(s.evaluator.rows), len(s.evaluator.latches))
	}
}

func TestFullInHysteresis(t *testing.T) {
	s := newScene()
	s.row(0).Returnable = bytes(11*quantity.GiB + 800*quantity.MiB)
	g := s.gpu(0)
	soon := &snapshot.FullIn{Median: 250 * time.Second, Earliest: 200 * time.Second, Latest: 340 * time.Second}
	late := &snapshot.FullIn{Median: 16 * time.Minute, Earliest: 14 * time.Minute, Latest: time.Hour}
	for _, flapping := range [][]*snapshot.FullIn{{soon, soon, nil}, {soon, late}, {soon, soon, late, late}} {
		for range 10 {
			for _, f := range flapping {
				g.FullIn = f
				s.tick()
				s.calm(t, "flapping")
			}
		}
	}
	g.FullIn = soon
	s.ticks(2)
	s.calm(t, "two samples")
	s.tick()
	s.expect(t, snapshot.AlertFullIn, snapshot.Alert{
		Severity: snapshot.Urgent, GPU: 0, Row: s.row(0).ID, Since: s.now.Add(-3 * time.Second),
		Note: "full in 4m10s (3m–6m)", Message: "GPU 0 full in 4m10s (3m–6m)", Advice: "F on 100 frees 10.0G now",
	})
	for range 5 { // the forecast comes and goes, but the alert stays
		g.FullIn = nil
		s.ticks(4)
		g.FullIn = soon
		s.tick()
		if !s.has(snapshot.AlertFullIn) {
			t.Fatal("taken down after four samples")
		}
	}
	g.FullIn = late
	s.ticks(19)
	if !s.has(snapshot.AlertFullIn) {
		t.Error("taken down too early")
	}
	s.tick()
	s.calm(t, "20 samples without")
}

// While a process that ran out of memory exits, the memory of the other processes varies a little. No
// full-in alert is raised beside the low-memory alert.
func TestFullInIsNoSecondAlertOfFullMemory(t *testing.T) {
	s := newScene()
	s.use(0, nearlyFull)
	s.row(0).Probe.OutOfMemoryCount = count(0)
	s.tick()
	s.row(0).Probe.OutOfMemoryCount = count(1)
	s.ticks(4)
	s.gpu(0).FullIn = &snapshot.FullIn{Latest: time.Minute}
	s.ticks(10)
	if !s.has(snapshot.AlertLowMemory) || s.has(snapshot.AlertFullIn) {
		t.Errorf("got %+v", s.standing)
	}
	s.gpu(0).FullIn = &snapshot.FullIn{Median: 20 * time.Second, Latest: time.Minute}
	s.ticks(10)
	if !s.has(snapshot.AlertFullIn) {
		t.Errorf("it is not full yet: %+v", s.standing)
	}
	s = newScene()
	s.use(0, nearlyFull)
	s.row(0).GrowthPerSecond = bytes(quantity.GiB)
	s.gpu(0).FullIn = &snapshot.FullIn{Latest: time.Minute}
	s.ticks(10)
	if !s.has(snapshot.AlertFullIn) {
		t.Errorf("a notice stands in for the urgent alert: %+v", s.standing)
	}
}

// While memory is still, a forecast is made every 2.7 s, so three snapshots may have the same forecast.
func TestFullInCountsForecasts(t *testing.T) {
	s := newScene()
	s.stands = true
	for i := range forecasted.samples {
		if s.has(snapshot.AlertFullIn) {
			t.Fatalf("raised after %d forecasts", i)
		}
		s.gpu(0).FullIn = &snapshot.FullIn{Median: time.Minute}
		s.ticks(3)
	}
	if !s.has(snapshot.AlertFullIn) {
		t.Error("not raised")
	}
}

func TestFullInClearsWhenTheGPUStopsAnswering(t *testing.T) {
	s := newScene()
	s.gpu(0).FullIn = &snapshot.FullIn{Median: time.Minute}
	s.ticks(3)
	if !s.has(snapshot.AlertFullIn) {
		t.Fatal("no alarm")
	}
	s.gpu(0).State = snapshot.GPULost
	s.tick()
	if s.has(snapshot.AlertFullIn) || !s.has(snapshot.AlertLost) {
		t.Errorf("got %+v", s.standing)
	}
}

func TestFullInClearsAtOnceWhenMemoryIsFreed(t *testing.T) {
	const used, gib = 70 * quantity.GiB, quantity.GiB
	interval := func(lower quantity.Bytes) []snapshot.Prediction {
		return []snapshot.Prediction{{Horizon: 10 * time.Second, Median: used + gib, Lower95: lower}}
	}
	for name, c := range map[string]struct {
		predicted []snapshot.Prediction
		then      quantity.Bytes
		ends      bool
	}{
		"a crash":                      {interval(used), 3 * gib, true},
		"a crash of one of two":        {interval(used), 60 * gib, true},
		"all it allows for":            {interval(64 * gib), 64 * gib, false},
		"more":                         {interval(64 * gib), 63 * gib, true},
		"an interval that says little": {interval(0), 60 * gib, false},
		"a crash after it":             {interval(0), 50 * gib, true},
		"no interval":                  {nil, 50 * gib, true},
		"less than a hundredth":        {interval(used), used - 700*quantity.MiB, false},
		"nothing":                      {interval(used), used, false},
	} {
		s := newScene()
		s.use(0, used)
		s.gpu(0).FullIn, s.gpu(0).Predicted = &snapshot.FullIn{Median: 4 * time.Minute}, c.predicted
		s.ticks(4)
		s.use(0, c.then)
		s.gpu(0).FullIn, s.gpu(0).Predicted = nil, interval(0)
		s.tick()
		if s.has(snapshot.AlertFullIn) == c.ends {
			t.Errorf("%s: %+v", name, s.standing)
		}
		// A new forecast raises the alert again only after as many samples as usual.
		s.gpu(0).FullIn = &snapshot.FullIn{Median: 4 * time.Minute}
		s.ticks(2)
		if s.has(snapshot.AlertFullIn) == c.ends {
			t.Errorf("%s, two samples of another later: %+v", name, s.standing)
		}
	}
}

func TestFullInOfAnInstanceClearsAtOnce(t *testing.T) {
	s := newScene()
	g := s.gpu(0)
	g.MIG = true
	for i := range 2 {
		g.Instances = append(g.Instances, snapshot.Instance{
			ID:      snapshot.InstanceID{MIG: true, GPU: uint32(i + 1)},
			Memory:  snapshot.Memory{Total: bytes(40 * quantity.GiB), Used: bytes(30 * quantity.GiB)},
			Outlook: snapshot.Outlook{FullIn: &snapshot.FullIn{Median: time.Minute}, Predicted: []snapshot.Prediction{{Lower95: 30 * quantity.GiB}}},
		})
	}
	s.ticks(3)
	g.Instances = slices.Clone(g.Instances)
	g.Instances[0].Memory.Used, g.Instances[0].FullIn, g.Instances[1].FullIn = bytes(quantity.GiB), nil, nil
	s.tick()
	if len(s.standing) != 1 || s.standing[0].Instance != g.Instances[1].ID {
		t.Errorf("got %+v", s.standing)
	}
}

func TestFullInReplacesLeak(t *testing.T) {
	s := newScene()
	p := s.row(1)
	p.Trend, p.GrowthPerSecond = snapshot.TrendLeak, bytes(25*quantity.MiB)
	s.ticks(3)
	s.expect(t, snapshot.AlertLeak, snapshot.Alert{
		GPU: 1, Row: p.ID, Since: noon, Note: "leak 25M/s, bob", Message: "GPU 1, PID 101 bob leaks 25M/s",
	})
	s.gpu(1).FullIn = &snapshot.FullIn{Median: 10 * time.Minute, Earliest: 8 * time.Minute}
	s.ticks(3)
	if len(s.standing) != 1 || s.standing[0].Kind != snapshot.AlertFullIn || s.standing[0].Row != p.ID {
		t.Errorf("got %+v", s.standing)
	}
	s.gpu(1).FullIn = nil
	s.ticks(5)
	s.snap.Rows = s.snap.Rows[:1]
	s.tick()
	s.calm(t, "when the process has ended")
}

func TestStandingAlertKeepsNamingItsProcess(t *testing.T) {
	s := newScene()
	other := *s.row(0)
	other.ID.Process.PID = 99
	other.User = "carol"
	s.snap.Rows = append(s.snap.Rows, other)
	s.gpu(0).FullIn = &snapshot.FullIn{Median: time.Minute}
	for i := range 40 {
		s.row(0).GrowthPerSecond = bytes(quantity.Bytes(10+i%7) * quantity.MiB)
		s.row(2).GrowthPerSecond = bytes(quantity.Bytes(10+i%5) * quantity.MiB)
		s.row(0).Returnable = bytes(quantity.Bytes(10+i%3) * quantity.GiB)
		s.row(2).Returnable = bytes(quantity.Bytes(10+i%4) * quantity.GiB)
		s.tick()
		if a := s.alert(snapshot.AlertFullIn); i >= 2 && a.Row != s.row(0).ID {
			t.Fatalf("second %d names %+v", i, a.Row)
		}
	}
}

func TestAlertsAreOrderedWorstFirst(t *testing.T) {
	build := func() []snapshot.Alert {
		s := newScene()
		for i := 2; i < 6; i++ {
			g := *s.gpu(0)
			g.Index, g.UUID = i, string(rune('a'+i))
			s.snap.GPUs = append(s.snap.GPUs, g)
		}
		s.ticks(1)
		s.gpu(0).Throttled = []string{"hardware"}
		s.gpu(1).XIDs = []snapshot.XID{{Code: 31, Time: s.now}}
		s.gpu(2).FullIn = &snapshot.FullIn{Median: 5 * time.Minute}
		s.gpu(3).FullIn = &snapshot.FullIn{Median: 2 * time.Minute}
		s.gpu(4).State = snapshot.GPULost
		s.gpu(5).ECC.Uncorrected = errors(1)
		s.row(0).Probe.OutOfMemoryCount = count(1)
		s.row(1).Probe.OutOfMemoryCount = count(1)
		s.ticks(40)
		return s.standing
	}
	want := build()
	var kinds []string
	for _, a := range want {
		kinds = append(kinds, string(a.Kind)+" "+number(a.GPU))
	}
	if expected := []string{
		"out_of_memory 0", "out_of_memory 1", "full_in 3", "full_in 2",
		"lost 4", "ecc_uncorrectable 5", "xid 1", "throttled 0",
	}; !slices.Equal(kinds, expected) {
		t.Errorf("got %q", kinds)
	}
	for range 20 {
		if !slices.Equal(build(), want) {
			t.Fatal("the order changes from run to run")
		}
	}
}

func TestFlushAdvice(t *testing.T) {
	s := newScene()
	s.gpu(0).FullIn = &snapshot.FullIn{Median: time.Minute}
	p := s.row(0)
	for _, tc := range []struct {
		name   string
		change func()
		want   string
	}{
		{"nothing is known", func() {}, ""},
		{"nothing to return", func() { p.Returnable = bytes(0) }, ""},
		{"something to return", func() { p.Returnable = bytes(5 * quantity.GiB) }, "F on 100 frees 5.00G now"},
		{"a pool, part of which may be fragmented", func() {
			p.Allocators = []snapshot.Allocator{{Kind: "cuda_pool", Basis: "post_flush", Cached: bytes(5 * quantity.GiB)}}
		}, "F on 100 frees about 5.00G now"},
		{"a probe that claims too much", func() { p.Probe.Mismatch = true }, ""},
		{"a silent probe", func() { p.Probe.State, p.Probe.Mismatch = snapshot.ProbeSilent, false }, ""},
		{"a foreign process", func() { p.Probe.State, p.ID.Process = snapshot.ProbeLive, process.Identity{PID: 7} }, ""},
	} {
		tc.change()
		s.ticks(3)
		if a := s.alert(snapshot.AlertFullIn); a == nil || a.Advice != tc.want {
			t.Errorf("%s: %+v", tc.name, a)
		}
	}
}
