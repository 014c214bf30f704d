package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"vramscope/action/flush"
	"vramscope/headroom"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/schema"
)

// forecast returns the drawn box, as seen after watching for a while.
func forecast() *snapshot.Snapshot { return snapshottest.DrawnBox() }

// asJSON returns the document of once --format json.
func asJSON(t testing.TB, snap *snapshot.Snapshot) string {
	t.Helper()
	encoded, err := schema.Encode(schema.Of(snap))
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

func TestFormats(t *testing.T) {
	boxes := map[string]*snapshot.Snapshot{
		"drawn": snapshottest.OneSample(), "forecast": forecast(), "dayone": snapshottest.DayOne(), "nodriver": snapshottest.NoDriver(),
	}
	for name, snap := range boxes {
		table, document, records, line := Table(snap, 0, false), asJSON(t, snap), CSV(snap), StatusLine(snap, false)
		if !json.Valid([]byte(document)) {
			t.Errorf("%s: not JSON", name)
		}
		if strings.Count(line, "\n") != 1 {
			t.Errorf("%s: not one line: %q", name, line)
		}
		for format, out := range map[string]string{"table": table, "json": document, "csv": records, "line": line} {
			t.Run(name+"."+format, func(t *testing.T) { golden.RequireEqual(t, []byte(out)) })
		}
	}
}

// TestJSONHasItsStableFields names fields that readers rely on.
func TestJSONHasItsStableFields(t *testing.T) {
	var out bytes.Buffer
	out.WriteString(asJSON(t, forecast()))
	var doc map[string]any
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	has := func(where string, value any, fields ...string) map[string]any {
		t.Helper()
		object, ok := value.(map[string]any)
		if !ok {
			t.Fatalf("%s is %T", where, value)
		}
		for _, field := range fields {
			if _, ok := object[field]; !ok {
				t.Errorf("%s has no %s", where, field)
			}
		}
		return object
	}
	first := func(value any) any {
		t.Helper()
		list, ok := value.([]any)
		if !ok || len(list) == 0 {
			t.Fatalf("%v is no list with something in it", value)
		}
		return list[0]
	}
	has("the document", doc, "schema", "time", "host", "simulated", "driver", "gpus", "host_memory", "alerts")
	has("driver", doc["driver"], "version", "cuda_version", "state")
	gpus := doc["gpus"].([]any)
	three := has("a GPU", gpus[3], "index", "uuid", "name", "pci_bus_id", "state", "memory", "utilization_percent",
		"temperature_celsius", "power_watts", "power_limit_watts", "instances", "full_in", "processes")
	has("memory", three["memory"], "total_bytes", "used_bytes", "free_bytes", "reserved_bytes")
	has("full_in", three["full_in"], "median_seconds", "earliest_seconds", "latest_seconds")
	process := has("a process", first(three["processes"]), "pid", "start_time", "user", "type", "runtime", "name", "command",
		"used_bytes", "allocated_bytes", "cached_bytes", "fragmented_bytes", "other_bytes", "returnable_bytes", "allocators", "probe", "predicted")
	has("a probe", process["probe"], "state", "age_seconds", "out_of_memory_count", "alloc_retries")
	has("a prediction", first(process["predicted"]), "horizon_seconds", "median_bytes", "lower80_bytes", "upper80_bytes", "lower95_bytes", "upper95_bytes")
	has("an allocator", first(process["allocators"]), "kind", "basis", "reserved_bytes", "allocated_bytes", "cached_bytes", "fragmented_bytes",
		"returnable_bytes", "pending_bytes", "largest_free_bytes", "segments", "out_of_memory_count", "alloc_retries")
	has("an alert", first(doc["alerts"]), "kind", "gpu", "pid", "message")
	has("an instance", first(gpus[5].(map[string]any)["instances"]), "gpu_instance", "compute_instance", "uuid", "profile", "memory")
	if six := gpus[6].(map[string]any); six["memory"].(map[string]any)["used_bytes"] != nil {
		t.Errorf("a lost GPU uses %v, want null", six["memory"])
	}
}

// hostile returns a box of which every text is an attack.
func hostile() *snapshot.Snapshot {
	return hostileWith("\x1b]0;gotcha\a\x1b[2J\u009b31m\u202ereversed\x7f\xff\xfe\nnext,\"line\"\t" + strings.Repeat("界", 100))
}

func hostileWith(bad string) *snapshot.Snapshot {
	size := quantity.From(quantity.GiB, quantity.Probe)
	return &snapshot.Snapshot{
		Time:   time.Unix(1800000000, 0).UTC(),
		Host:   snapshot.Host{Name: bad, User: bad},
		Driver: snapshot.Driver{State: snapshot.DriverOK, Version: bad, CUDAVersion: bad, Message: bad},
		GPUs: []snapshot.GPU{{UUID: "GPU-1", Name: bad, State: snapshot.GPUError, Message: bad, PCIBusID: bad,
			MIG: true, Instances: []snapshot.Instance{{ID: snapshot.InstanceID{MIG: true, GPU: 1}, Profile: bad}}}},
		Rows: []snapshot.Process{{
			ID:   snapshot.RowID{Process: process.Identity{PID: 7, StartTime: 1}, GPUUUID: "GPU-1"},
			User: bad, Name: bad, Command: []string{bad, bad}, Type: bad, Runtime: bad, RuntimeVersion: bad, Job: process.Job{Kind: "pod", ID: bad},
			Used: quantity.From(quantity.Bytes(-5), quantity.Driver), Returnable: size, Cached: size,
			Probe:     &snapshot.Probe{State: snapshot.ProbeLive, StartedBy: bad, Capabilities: []string{bad}},
			Evictable: []snapshot.Evictable{{Name: bad, Bytes: size}},
			Allocators: []snapshot.Allocator{{
				Kind: bad, Config: bad, Pools: []snapshot.Pool{{Name: bad}}, Largest: []snapshot.Allocation{{API: bad, Library: bad}},
			}},
		}},
		Alerts: []snapshot.Alert{{Kind: snapshot.AlertLeak, GPUUUID: "GPU-1", Message: bad, Advice: bad}, {Kind: snapshot.AlertDriver, Message: bad}},
	}
}

// outputs returns what once, flush and headroom write about a snapshot whose texts are bad.
func outputs(bad string) map[string]func(io.Writer) error {
	snap := hostileWith(bad)
	flushed := &flush.Result{Level: flush.Urgent, Reason: bad, Notes: []string{bad}, Returnable: quantity.GiB,
		Devices: []flush.Device{{UUID: "GPU-1", Before: quantity.GiB}}}
	judged := headroom.Judge(snap, nil, headroom.Question{Need: quantity.GiB, Count: 1})
	written := func(encoded []byte, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, failed := w.Write(encoded)
			return errors.Join(err, failed)
		}
	}
	plain := func(s string) func(io.Writer) error { return written([]byte(s), nil) }
	return map[string]func(io.Writer) error{
		"table":         plain(Table(snap, 0, false)),
		"narrow table":  plain(Table(snap, 80, true)),
		"JSON":          written(schema.Encode(schema.Of(snap))),
		"CSV":           plain(CSV(snap)),
		"line":          plain(StatusLine(snap, false)),
		"flush":         plain(FlushText(snap, &snap.Rows[0], flushed, SignsFor(false))),
		"flush JSON":    written(schema.Encode(FlushDocument(snap, &snap.Rows[0], flushed))),
		"flush asks":    plain(FlushQuestion(snap, &snap.Rows[0], flush.Request{Process: snap.Rows[0].ID.Process, Level: flush.Urgent}, SignsFor(false))),
		"headroom":      plain(HeadroomText(&judged, SignsFor(false), 0)),
		"headroom JSON": written(schema.Encode(HeadroomDocument(&judged))),
	}
}

func TestHostileTextCannotReachTheTerminal(t *testing.T) {
	for _, bad := range []string{
		"\x1b]0;gotcha\a\x1b[2J\u009b31m\u202ereversed\x7f\xff\xfe\nnext,\"line\"\t" + strings.Repeat("界", 100),
		"\u2066\u200b\u200d\u2028\u2029\ufeff\u00ad\u034f\u061c\u2060\ufe0f\u115f\u3164\ue000\U000e0041\U000e0100\u0085",
	} {
		checkOutputs(t, bad)
	}
}

func checkOutputs(t *testing.T, bad string) {
	t.Helper()
	for name, write := range outputs(bad) {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if raw := strings.ReplaceAll(out.String(), "\n", ""); text.Clean(raw) != raw {
			t.Errorf("%s of %q has a character that the terminal must not get: %q", name, bad, raw)
		}
		if name == "narrow table" {
			for line := range strings.Lines(out.String()) {
				if text.Width(strings.TrimSuffix(line, "\n")) > 80 {
					t.Errorf("%d cells: %q", text.Width(line), line)
				}
			}
		}
	}
}

func FuzzOutputs(f *testing.F) {
	for _, bad := range []string{"\x1b[2J", "\u202e\u200b", "\U000e0041", "\u2028", "a\nb", "\xff", "e\u0301"} {
		f.Add(bad)
	}
	f.Fuzz(func(t *testing.T, bad string) { checkOutputs(t, bad) })
}

// TestJSONKeepsWhatItEscapes: a decoder returns the text from before the escaping.
func TestJSONKeepsWhatItEscapes(t *testing.T) {
	var out bytes.Buffer
	snap := hostile()
	snap.Rows[0].Command = []string{"a\u009b\x7fb", "<c>&"}
	out.WriteString(asJSON(t, snap))
	var generic struct {
		GPUs []struct{ Processes []struct{ Command string } }
	}
	if err := json.Unmarshal(out.Bytes(), &generic); err != nil {
		t.Fatal(err)
	}
	if got := generic.GPUs[0].Processes[0].Command; got != "a\u009b\x7fb <c>&" {
		t.Errorf("got %q", got)
	}
}

func TestAwkCanCountColumns(t *testing.T) {
	snap := snapshottest.OneSample()
	snap.Rows[0].User = "domain users"
	var out bytes.Buffer
	out.WriteString(Table(snap, 0, false))
	used := map[string]string{}
	for line := range strings.Lines(out.String()) {
		if f := strings.Fields(line); len(f) > 11 && f[0] != "GPU" {
			used[f[1]] = f[5]
		}
	}
	for pid, want := range map[string]string{"2963112": "70.6G", "1907": "18M", "184": "9.20G", "2874001": "–"} {
		if used[pid] != want {
			t.Errorf("pid %s: the sixth column is %q, want %q", pid, used[pid], want)
		}
	}
}

func TestCSVReadsBack(t *testing.T) {
	var out bytes.Buffer
	snap := snapshottest.OneSample()
	out.WriteString(CSV(snap))
	records, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 + len(snap.Rows); len(records) != want {
		t.Errorf("%d records, want the head and %d processes", len(records), len(snap.Rows))
	}
	if out := CSV(&snapshot.Snapshot{GPUs: []snapshot.GPU{{UUID: "GPU-1"}}}); strings.Count(out, "\n") != 2 {
		t.Errorf("a GPU without processes: %s", out)
	}
}

// TestCSVHasNoFormulas: a spreadsheet would run them.
func TestCSVHasNoFormulas(t *testing.T) {
	snap := hostileWith("=HYPERLINK(0)")
	snap.GPUs[0].Temperature = quantity.From(-3, quantity.Driver)
	var out bytes.Buffer
	out.WriteString(CSV(snap))
	records, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	quoted, negative := map[string]bool{}, false
	for _, record := range records {
		for i, field := range record {
			quoted[records[0][i]] = quoted[records[0][i]] || strings.HasPrefix(field, "'=")
			negative = negative || field == "-3"
			if field != "-3" && field != "-5" && strings.ContainsAny(field[:min(len(field), 1)], "=+-@") {
				t.Errorf("%s is %q", records[0][i], field)
			}
		}
	}
	for _, title := range []string{"host", "gpu_name", "user", "name", "command"} {
		if !quoted[title] {
			t.Errorf("%s is never quoted", title)
		}
	}
	if !negative {
		t.Error("a negative number is quoted")
	}
}

// TestOutputsSayWhatIsLeftOut: the outputs name rejected probes, and processes that could not be
// asked for a probe.
func TestOutputsSayWhatIsLeftOut(t *testing.T) {
	snap := snapshottest.OneSample()
	snap.ProbesUnasked = 257
	snap.Rows[0].Probe = &snapshot.Probe{State: snapshot.ProbeLive, Rejected: "reports 512T, the driver 13.0G"}
	for _, state := range []snapshot.DriverState{snapshot.DriverOK, snapshot.DriverAbsent} {
		snap.Driver.State = state
		table, document := Table(snap, 0, false), asJSON(t, snap)
		for _, want := range []string{
			"\nnote   257 processes could not be asked for a probe in time",
			fmt.Sprintf(": PID %d: its probe is rejected: reports 512T, the driver 13.0G\n", snap.Rows[0].ID.Process.PID)[1:],
		} {
			if !strings.Contains(table, want) {
				t.Errorf("%s: the table has no %q:\n%s", state, want, table)
			}
		}
		for _, want := range []string{`"unasked": 257`, `"rejected": "reports 512T, the driver 13.0G"`} {
			if !strings.Contains(document, want) {
				t.Errorf("%s: the document has no %s", state, want)
			}
		}
	}
}

// TestImpossibleFiguresAreWritten: figures that no driver should report can still be written.
func TestImpossibleFiguresAreWritten(t *testing.T) {
	amount := func(b quantity.Bytes) snapshot.Bytes { return quantity.From(b, quantity.Driver) }
	float := func(f float64) snapshot.Float { return quantity.From(f, quantity.Driver) }
	snap := snapshottest.OneSample()
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		g.Memory = snapshot.Memory{Total: amount(math.MaxInt64), Used: amount(math.MinInt64), Free: amount(math.MaxInt64), Reserved: amount(-1)}
		g.Power, g.PowerLimit = float(math.NaN()), float(math.Inf(1))
		g.Utilization = quantity.From(math.MinInt, quantity.Driver)
		g.FullIn = &snapshot.FullIn{Median: math.MaxInt64, Earliest: math.MinInt64}
	}
	for i := range snap.Rows {
		snap.Rows[i].CPU = float(math.NaN())
		snap.Rows[i].Used = amount(math.MinInt64)
		snap.Rows[i].ID.GPUUUID = "GPU-nowhere"
	}
	for name, out := range map[string]string{
		"table": Table(snap, 0, false), "JSON": asJSON(t, snap), "CSV": CSV(snap), "line": StatusLine(snap, false),
	} {
		if out == "" {
			t.Errorf("%s: nothing is written", name)
		}
	}
}

// TestASCIIIsASCII: the words of alerts and of a flush, which contain dashes, become ASCII, too.
func TestASCIIIsASCII(t *testing.T) {
	const words = "full in 5m (3m–6m)… 2×H100"
	snap := hostileWith("plain")
	g := &snap.GPUs[0]
	g.MIG, g.Message, snap.Alerts[0].Message, snap.Alerts[1].Message = false, words, words, words
	flushed := &flush.Result{Level: flush.Urgent, Reason: words, Notes: []string{words}, Returnable: quantity.GiB,
		Devices: []flush.Device{{UUID: "GPU-1", Before: quantity.GiB}}}
	judged := headroom.Judge(snap, nil, headroom.Question{Need: quantity.GiB, Count: 1})
	var out strings.Builder
	out.WriteString(Table(snap, 0, true) + StatusLine(snap, true))
	snap.Driver.State, snap.Driver.Message = snapshot.DriverAbsent, words
	out.WriteString(Table(snap, 0, true))
	out.WriteString(FlushText(snap, &snap.Rows[0], flushed, SignsFor(true)) + HeadroomText(&judged, SignsFor(true), 0) +
		FlushQuestion(snap, &snap.Rows[0], flush.Request{Process: snap.Rows[0].ID.Process, Level: flush.Urgent}, SignsFor(true)))
	for line := range strings.Lines(out.String()) {
		if i := strings.IndexFunc(line, func(r rune) bool { return r > '~' }); i >= 0 {
			t.Errorf("%q", line)
		}
	}
	if n := strings.Count(out.String(), "(3m-6m)+ 2xH100"); n != 7 {
		t.Errorf("the words are there %d times:\n%s", n, &out)
	}
}
