package exporter

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// exporting returns an exporter with all process labels, and with a snapshot that is a second old.
func exporting(snap *snapshot.Snapshot, change ...func(*Options)) *Exporter {
	o := Options{
		Version: "1.2.3", ProcessLabels: metric.ProcessLabels(), Processes: 16,
		Now: func() time.Time { return snap.Time.Add(time.Second) },
	}
	for _, c := range change {
		c(&o)
	}
	e := New(o)
	e.Observe(snap, nil, nil)
	return e
}

// get returns a response of the exporter.
func get(t testing.TB, e *Exporter, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	e.Handler().ServeHTTP(w, r)
	return w
}

func scrape(t testing.TB, e *Exporter) string {
	t.Helper()
	w := get(t, e, "/metrics")
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func has(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
}

// eventful returns the drawn box with a guard, and events that are counted.
func eventful() (*snapshot.Snapshot, []snapshot.Event) {
	snap := snapshottest.DrawnBox()
	uuid := snap.GPUs[0].UUID
	snap.GPUs[0].Throttled = []string{"power"}
	snap.Guard = &snapshot.Guard{Mode: snapshot.GuardAct}
	freed := quantity.From(3*quantity.GiB, quantity.Driver)
	return snap, []snapshot.Event{
		{Kind: snapshot.EventOutOfMemory, GPUUUID: uuid},
		{Kind: snapshot.EventFlush, GPUUUID: uuid, Decision: &snapshot.GuardDecision{Kind: snapshot.GuardFlushed, Rule: "room", Measured: freed}},
		{Kind: snapshot.EventGuard, GPUUUID: uuid, Decision: &snapshot.GuardDecision{Kind: snapshot.GuardRefused, Rule: "room"}},
		{Kind: snapshot.EventRescued, GPUUUID: uuid},
	}
}

func TestMetricsOfTheDrawnBox(t *testing.T) {
	snap, events := eventful()
	e := exporting(snap)
	later := *snap
	later.GPUs = append([]snapshot.GPU{}, snap.GPUs...)
	later.GPUs[0].XIDs = []snapshot.XID{{Code: 31, Time: snap.Time.Add(time.Second)}}
	e.Observe(&later, events, nil)
	text := scrape(t, e)
	gpu := `gpu="3",uuid="` + snap.GPUs[3].UUID + `"`
	zero := `gpu="0",uuid="` + snap.GPUs[0].UUID + `"`
	leak := fmt.Sprintf(`pid="%d",uuid="%s"`, snapshottest.Leaking, snap.GPUs[3].UUID)
	has(t, text,
		`vramscope_host_info{cuda_version="12.4",driver_version="550.163.01",host="h100-03",simulated="false",version="1.2.3"} 1`,
		`vramscope_last_sample_timestamp_seconds 1.795176257e+09`,
		`vramscope_driver_state{state="ok"} 1`,
		`vramscope_gpu_state{gpu="6",state="lost",uuid="`+snap.GPUs[6].UUID+`"} 1`,
		`vramscope_gpu_full_in_seconds{`+gpu+`} 250`,
		`vramscope_alerts{gpu="3",kind="full_in",severity="urgent",uuid="`+snap.GPUs[3].UUID+`"} 1`,
		`vramscope_process_memory_used_bytes{`+leak+`} `+bytesOf(snap.Row(snapshottest.RowID(snap, snapshottest.Leaking)).Used),
		`vramscope_gpu_throttled{gpu="0",reason="power",uuid="`+snap.GPUs[0].UUID+`"} 1`,
		`vramscope_gpu_out_of_memory_total{`+zero+`} 0`, // counters of probes stay 0 for a minute
		`vramscope_gpu_flushes_total{`+zero+`} 1`,
		`vramscope_gpu_flushed_bytes_total{`+zero+`} 3.221225472e+09`,
		`vramscope_gpu_xid_errors_total{gpu="0",uuid="`+snap.GPUs[0].UUID+`",xid="31"} 1`,
		`vramscope_guard_decisions_total{kind="refused",rule="room"} 1`,
		`vramscope_rescues_total{outcome="rescued"} 1`,
		`vramscope_rescues_total{outcome="not_rescued"} 0`,
	)
	for _, never := range []string{"memory_used_bytes{gpu=\"6\"", "NaN", "--cfg", "Inf"} {
		if strings.Contains(text, never) {
			t.Errorf("%q is exported", never)
		}
	}
}

func bytesOf(b snapshot.Bytes) string { return fmt.Sprint(float64(b.Or(0))) }

// TestEveryNameIsExported: every row of both tables of package metric has a series.
func TestEveryNameIsExported(t *testing.T) {
	snap, events := eventful()
	g := &snap.GPUs[0]
	for id := metric.FirstSensor; id < metric.Count; id++ {
		g.Set(id, quantity.From(1.0, quantity.Driver))
	}
	g.ECC = metric.ECC{Enabled: quantity.From(true, quantity.Driver), Corrected: quantity.From(uint64(1), quantity.Driver)}
	g.Predicted = []snapshot.Prediction{{Horizon: time.Minute, Median: 1}}
	g.Unattributed = quantity.From(quantity.GiB, quantity.Computed)
	snap.GPUs[5].Instances[0].Memory.Reserved = g.Unattributed
	snap.Rows = slices.Clone(snap.Rows)
	for i := range snap.Rows {
		snap.Rows[i].Asleep = quantity.From(quantity.GiB, quantity.Probe)
		snap.Rows[i].Served = &snapshot.Served{KVCacheUsed: quantity.From(.12, quantity.Probe), Parts: []snapshot.ServedPart{{Name: "weights"}}, Requests: quantity.From(1, quantity.Probe)}
	}
	snap.GPUs[5].Instances[0].FullIn = &snapshot.FullIn{Median: time.Hour, Earliest: time.Minute}
	e := exporting(snap)
	later := *snap
	later.GPUs = append([]snapshot.GPU{}, snap.GPUs...)
	later.GPUs[0].XIDs = []snapshot.XID{{Code: 31, Time: snap.Time.Add(time.Second)}}
	e.Observe(&later, events, nil)
	if text := scrape(t, e); strings.Contains(text, "vramscope_recording_paused") {
		t.Error("recording is paused or not where nothing is recorded")
	}
	for _, paused := range []bool{false, true} {
		e.Observe(&later, nil, &metric.Recorder{Paused: paused, Errors: 3, Lost: 7, Written: time.Unix(1000, 0)})
		for _, line := range []string{"vramscope_recording_errors_total 3", "vramscope_recording_lost_samples_total 7", "vramscope_recording_last_write_timestamp_seconds 1000", "vramscope_driver_failures_total 0"} {
			has(t, scrape(t, e), line)
		}
		has(t, scrape(t, e), "vramscope_recording_paused "+map[bool]string{false: "0", true: "1"}[paused])
	}
	text := scrape(t, e)
	for _, f := range everyName() {
		if !strings.Contains(text, "\n# TYPE "+f.Name+" ") && !strings.HasPrefix(text, "# TYPE "+f.Name+" ") {
			t.Errorf("%s has no series", f.Name)
		}
	}
}

func TestNamesAreAsPrometheusWantsThem(t *testing.T) {
	snap, events := eventful()
	e := exporting(snap)
	e.Observe(snap, events, nil)
	problems, err := promlint.New(strings.NewReader(scrape(t, e))).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %+v", err, problems)
	}
}

// TestWhatIsOldIsNotExported: if the sampler hangs, the time of its last sample is exported, and no figures.
func TestWhatIsOldIsNotExported(t *testing.T) {
	snap := snapshottest.DrawnBox()
	now := snap.Time.Add(14 * time.Second)
	e := exporting(snap, func(o *Options) { o.Now = func() time.Time { return now } })
	if w := get(t, e, "/healthz"); w.Code != http.StatusOK || !strings.Contains(scrape(t, e), "vramscope_gpu_") {
		t.Errorf("after 14 s: %d", w.Code)
	}
	now = snap.Time.Add(15 * time.Second)
	text := scrape(t, e)
	has(t, text, `vramscope_last_sample_timestamp_seconds 1.795176257e+09`)
	if strings.Contains(text, "vramscope_gpu_") || strings.Contains(text, "vramscope_process_") || strings.Contains(text, "vramscope_driver_") {
		t.Errorf("old figures:\n%s", text)
	}
	if w := get(t, e, "/healthz"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "no sample since 2026-11-20T12:04:17Z") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	none := New(Options{Now: time.Now})
	if w := get(t, none, "/healthz"); w.Code != http.StatusServiceUnavailable || scrape(t, none) != "" {
		t.Errorf("before the first sample: %d", w.Code)
	}
}

func TestWhatIsUnknownHasNoSeries(t *testing.T) {
	text := scrape(t, exporting(snapshottest.DayOne()))
	for _, never := range []string{"allocated_bytes", "cached_bytes", "full_in", "predicted"} {
		if strings.Contains(text, never) {
			t.Errorf("%s without a probe", never)
		}
	}
	if text = scrape(t, exporting(snapshottest.NoDriver())); strings.Contains(text, "_memory_used_bytes{") {
		t.Error("used memory without a driver")
	}
}

// TestHostileTexts: with any name of a process, the text can be parsed and is short.
func TestHostileTexts(t *testing.T) {
	for _, hostile := range []string{"\xff\xfe\n\"} 1\nvramscope_gpu_up 0 # {", strings.Repeat("\u202e\x1b[31m", 1<<18), strings.Repeat("é", 1<<19), "a\\", "\x00"} {
		snap := snapshottest.Hostile(snapshottest.DrawnBox(), hostile)
		text := scrape(t, exporting(snap))
		families, err := parse(text)
		if err != nil {
			t.Fatalf("%.20q: %v", hostile, err)
		}
		if families["vramscope_gpu_up"] != nil || len(text) > 100_000 || strings.ContainsRune(text, '\x1b') {
			t.Errorf("%.20q: %d bytes", hostile, len(text))
		}
	}
}

// TestProbesCannotAddGPUs: a program can claim any number of GPUs that do not exist.
func TestProbesCannotAddGPUs(t *testing.T) {
	snap := snapshottest.DrawnBox()
	for i := range 1000 {
		p := snap.Rows[0]
		p.ID.GPUUUID = fmt.Sprintf("GPU-invented-%d", i)
		snap.Rows = append(snap.Rows, p)
	}
	if n := strings.Count(scrape(t, exporting(snap)), "GPU-invented"); n == 0 || n > 16*10 {
		t.Errorf("%d series", n)
	}
}
