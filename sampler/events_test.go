package sampler

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/nvml"
	"vramscope/sampler/alert"
	"vramscope/sampler/history"
	"vramscope/sampler/snapshot"
)

// logged returns the events, oldest first, each as its kind and message.
func logged(s *Sampler) []string {
	events := s.History().Events(0)
	lines := make([]string, len(events))
	for i, e := range events {
		lines[len(events)-1-i] = string(e.Kind) + " " + e.Message
	}
	return lines
}

func expectLog(t *testing.T, s *Sampler, prefixes ...string) {
	t.Helper()
	lines := logged(s)
	ok := len(lines) == len(prefixes)
	for i := 0; ok && i < len(lines); i++ {
		ok = strings.HasPrefix(lines[i], prefixes[i])
	}
	if !ok {
		t.Errorf("the log says %q, want %q", lines, prefixes)
	}
}

// There are no start events even if the driver is slow to wake up.
func TestNoStartEventsForTheFirstProcessList(t *testing.T) {
	b := newBox(2)
	b.openHang = make(chan struct{})
	s := b.sampler(func(o *Options) { o.Deadline = hangTime })
	if snap := b.tick(s); snap.Driver.State != snapshot.DriverStarting {
		t.Fatalf("driver %s, want one that has not answered yet", snap.Driver.State)
	}
	close(b.openHang)
	for deadline := time.Now().Add(testTimeout); len(s.Latest().Rows) < 2; b.tick(s) {
		if time.Now().After(deadline) {
			t.Fatal("the driver never answered")
		}
	}
	expectLog(t, s)
	r := b.readings["GPU-1"]
	r.Processes = append(r.Processes, nvml.Process{PID: 300, Used: measured(gib)})
	b.readings["GPU-1"] = r
	b.processes[300] = info(300, 5000)
	b.tick(s)
	expectLog(t, s, "started started")
}

// remembering is a /proc that still returns processes that have exited.
type remembering struct{ *box }

func (remembering) Alive(process.Identity) bool { return false }

func TestEndedEventAsksForTheProcessNow(t *testing.T) {
	for _, tc := range []struct {
		name   string
		source func(*box) ProcessReader
		want   string
	}{
		{"ended a moment ago", func(b *box) ProcessReader { return remembering{b} }, "ended exited, used 10.0G"},
		{"gave its context back", func(b *box) ProcessReader { return b }, "ended left the GPU, used 10.0G"},
	} {
		b := newBox(1)
		s := b.sampler(func(o *Options) { o.Processes = tc.source(b) })
		b.tick(s)
		r := b.readings["GPU-0"]
		r.Processes = nil
		b.readings["GPU-0"] = r
		b.tick(s)
		t.Run(tc.name, func(t *testing.T) { expectLog(t, s, tc.want) })
	}
}

func TestForeignProcessLeavesTheGPU(t *testing.T) {
	b := newBox(1)
	delete(b.processes, 100)
	s := b.sampler()
	b.tick(s)
	r := b.readings["GPU-0"]
	r.Processes = nil
	b.readings["GPU-0"] = r
	b.tick(s)
	expectLog(t, s, "ended left the GPU")
}

func TestZombieOnALostGPUHasExited(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	b.tick(s)
	b.readErr["GPU-0"] = lost()
	b.tick(s)
	zombie := b.processes[100]
	zombie.Ended = true
	b.processes[100] = zombie
	if snap := b.tick(s); len(snap.Rows) != 0 || len(snap.Ended) != 1 {
		t.Errorf("%d rows, %d ended", len(snap.Rows), len(snap.Ended))
	}
	expectLog(t, s, "gpu_lost lost: GPU_IS_LOST", "ended exited")
}

func TestSlowGPUIsNoEvent(t *testing.T) {
	b := newBox(1) // on a busy machine, a second GPU might be late too
	s := b.sampler(func(o *Options) { o.Deadline = 2 * hangTime })
	untilItAnswers := func() {
		for deadline := time.Now().Add(testTimeout); ; time.Sleep(time.Millisecond) {
			// The test's clock stands still until the answer is there.
			if gpus := s.Tick(b.now).GPUs; len(gpus) > 0 && gpus[0].State == snapshot.GPUOK {
				return
			}
			if time.Now().After(deadline) {
				t.Fatal("it does not answer")
			}
		}
	}
	untilItAnswers()
	hang := func(ticks int) {
		gate := make(chan struct{})
		b.mu.Lock()
		b.hang["GPU-0"] = gate
		b.mu.Unlock()
		snap := b.tick(s)
		for range ticks - 1 {
			snap = b.tick(s)
		}
		if snap.GPUs[0].State != snapshot.GPUHanging {
			t.Fatalf("state %s of a GPU that does not answer", snap.GPUs[0].State)
		}
		b.mu.Lock()
		delete(b.hang, "GPU-0")
		b.mu.Unlock()
		close(gate)
		untilItAnswers()
	}
	for range 5 {
		hang(2)
	}
	expectLog(t, s)
	hang(9)
	expectLog(t, s, "gpu_lost hanging: no answer since 12:00:1", "gpu_back back after ")
}

func TestXidsAreLogged(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	b.tick(s)
	report := func(codes ...uint64) {
		r := b.readings["GPU-0"]
		r.XIDs = nil
		for i, code := range codes {
			r.XIDs = append(r.XIDs, nvml.XID{Code: code, Time: b.now.Add(time.Duration(i) * time.Millisecond)})
		}
		b.readings["GPU-0"] = r
	}
	report(13, 31)
	b.tick(s)
	report()
	b.tick(s)
	report(79)
	b.readErr["GPU-0"] = lost()
	b.tick(s)
	report()
	b.tick(s)
	expectLog(t, s, "xid Xid 13", "xid Xid 31", "xid Xid 79", "gpu_lost lost: GPU_IS_LOST, had 10.0G")
}

// A report makes no row if another process has the pid.
func TestLastReportOfAnExitedProcessMakesNoRow(t *testing.T) {
	b := newBox(1)
	r := b.readings["GPU-0"]
	r.Processes = nil
	b.readings["GPU-0"] = r
	b.answer(100, "GPU-0", 5*gib, gib, 0, gib)
	s := b.sampler()
	if snap := b.tick(s); len(snap.Rows) != 1 {
		t.Fatalf("%d rows of a probe that the driver does not list", len(snap.Rows))
	}
	b.processes[100] = info(100, 2000)
	if snap := b.tick(s); len(snap.Rows) != 0 {
		t.Errorf("row %+v of a process that has ended", snap.Rows[0].ID)
	}
}

// TestForecastsAreMadeOnceASecond samples a box ten times a second.
func TestForecastsAreMadeOnceASecond(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	var before []snapshot.Prediction
	made := 0
	for i := range 900 {
		b.use("GPU-0", 10*gib+quantity.Bytes(i)*quantity.MiB)
		b.now = b.now.Add(100 * time.Millisecond)
		snap := s.Tick(b.now)
		now := snap.Rows[0].Predicted
		if len(now) > 0 && (len(before) == 0 || &now[0] != &before[0]) {
			made++
		}
		before = now
	}
	if made < 55 || made > 90 {
		t.Errorf("%d forecasts in a minute and a half, of which 18 s are too young, want about one a second", made)
	}
	// Used memory grows 10 MiB a second; the forecast is at most a second old.
	const grown quantity.Bytes = 10*gib + 900*quantity.MiB + 600*quantity.MiB
	for _, p := range before {
		if p.Horizon == time.Minute && (p.Median < grown-60*quantity.MiB || p.Median > grown+60*quantity.MiB) {
			t.Errorf("in a minute %v, want about %v", p.Median, grown)
		}
	}
	b.readErr["GPU-0"] = lost()
	b.now = b.now.Add(100 * time.Millisecond)
	if p := s.Tick(b.now).Rows[0]; p.Predicted != nil || p.Trend != snapshot.TrendUnknown || p.GrowthPerSecond.Known() {
		t.Errorf("a forecast of what is not known: %+v", p)
	}
}

func TestClearedAlertsSayWhatNoLongerHolds(t *testing.T) {
	for kind, want := range map[snapshot.AlertKind]string{
		snapshot.AlertFullIn: "no longer filling up (25s)", snapshot.AlertLeak: "no longer leaking (25s)",
		snapshot.AlertLowMemory: "no longer low on memory (25s)", snapshot.AlertThrottled: "no longer throttled (25s)",
		snapshot.AlertECC: "no new ECC errors (25s)", "new_rule": "cleared: new rule (25s)",
	} {
		if got := cleared(start.Add(25*time.Second), &snapshot.Alert{Kind: kind, Since: start}); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}

func TestClearedAlertNamesItsEndedProcess(t *testing.T) {
	row := snapshot.RowID{Process: process.Identity{PID: 7, StartTime: 3}, GPUUUID: "GPU-3"}
	ended := snapshot.Process{ID: row, User: "carol", Command: []string{"python3", "finetune.py"}, Name: "python3"}
	other := snapshot.Process{ID: snapshot.RowID{Process: process.Identity{PID: 7, StartTime: 4}, GPUUUID: "GPU-3"}, User: "dave"}
	s := &Sampler{history: history.New(), ended: []snapshot.EndedProcess{{Last: other}, {Last: ended}, {Last: other}}}
	s.logAlert(time.Now(), snapshot.EventCleared, &snapshot.Alert{Row: row}, "cleared")
	e := s.history.Events(0)[0]
	if e.User != "carol" || e.Name != "finetune.py" {
		t.Errorf("it is of %q by %q", e.Name, e.User)
	}
}

// TestRulesAreAppliedOnceASecond makes a GPU report a new critical error ten times a second.
func TestRulesAreAppliedOnceASecond(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	messages := map[string]bool{}
	for i := range 50 {
		r := b.readings["GPU-0"]
		r.XIDs = []nvml.XID{{Code: 500 + uint64(i), Time: b.now}}
		b.readings["GPU-0"] = r
		b.now = b.now.Add(100 * time.Millisecond)
		alerts := s.Tick(b.now).Alerts
		if len(alerts) != 1 || alerts[0].Kind != snapshot.AlertXID {
			t.Fatalf("tick %d: alerts %+v", i, alerts)
		}
		messages[alerts[0].Message] = true
	}
	if len(messages) < 5 || len(messages) > 6 {
		t.Errorf("%d alerts in five seconds, want one a second", len(messages))
	}
	if n := len(s.History().Events(0)); n != 49 {
		t.Errorf("%d events, want all but that of the first look: the log is not the alert line", n)
	}
}

// A leak continues while the time to full is shown instead of the leak. No event says that the leak
// has ended or begun again.
func TestSupersededAlertHasNotEnded(t *testing.T) {
	b := newBox(1)
	s := b.sampler(noDeadline)
	used := 30 * gib
	grow := func(seconds int, rate quantity.Bytes) {
		for range seconds {
			used += rate
			b.use("GPU-0", used)
			b.tick(s)
		}
	}
	grow(600, 0)
	grow(2700, 16*mib)
	expectLog(t, s, "alarm GPU 0, PID 100 alice leaks", "alarm GPU 0 full in")
	used = 35 * gib // the process frees what it leaked
	grow(1800, 0)
	expectLog(t, s, "alarm GPU 0, PID 100 alice leaks", "alarm GPU 0 full in", "alarm_cleared no longer filling up", "alarm_cleared no longer leaking")
}

// The alert of a GPU continues when the process that it names becomes known. No event says that the
// alert has ended or begun again.
func TestAlertGoesOnWhenItsProcessBecomesKnown(t *testing.T) {
	s := &Sampler{history: history.New(), alerts: alert.New(-1, history.New())}
	full := snapshot.FullIn{Median: 3 * time.Minute, Earliest: 2 * time.Minute, Latest: 4 * time.Minute}
	snap := &snapshot.Snapshot{
		GPUs: []snapshot.GPU{{UUID: "GPU-0", State: snapshot.GPUOK}},
		Rows: []snapshot.Process{{ID: snapshot.RowID{Process: process.Identity{PID: 7, StartTime: 3}, GPUUUID: "GPU-0"}}},
	}
	for i := range 20 {
		full.Made = start.Add(time.Duration(i) * time.Second)
		made := full
		snap.Time, snap.GPUs[0].FullIn = full.Made, &made
		if i == 10 {
			snap.Rows[0].GrowthPerSecond = quantity.From(gib, quantity.Computed)
		}
		snap.Alerts = s.applyRules(snap.Time, snap)
	}
	if len(snap.Alerts) != 1 || snap.Alerts[0].Row != snap.Rows[0].ID {
		t.Errorf("alerts %+v, want one that names the process", snap.Alerts)
	}
	expectLog(t, s, "alarm GPU 0 full in")
}
