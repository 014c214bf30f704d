//go:build linux && cgo

package cli

import (
	"encoding/csv"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"vramscope/cli/command"
	"vramscope/internal/fakedriver"
)

// silentBox makes a box without probes. The driver reports no figure of the first GPU and of its
// process, and the call for the second GPU's memory fails.
func silentBox(t *testing.T) []string {
	t.Helper()
	box, path := fakedriver.Box(2, 1), filepath.Join(t.TempDir(), "state")
	g := &box.GPUs[0]
	for v, i := reflect.ValueOf(g).Elem(), 0; i < v.NumField(); i++ {
		name := v.Type().Field(i).Name
		if v.Field(i).Kind() == reflect.Uint64 && !strings.HasPrefix(name, "PCID") && name != "PCIBus" && name != "Minor" {
			v.Field(i).SetUint(fakedriver.Absent)
		}
	}
	p := &g.Processes[0]
	p.Used, p.SM, p.MemoryPercent = fakedriver.Unavailable, fakedriver.Absent, fakedriver.Absent
	box.GPUs[1].Fail("nvmlDeviceGetMemoryInfo*", fakedriver.Unknown)
	box.MustWrite(t, path)
	return fakedriver.Environment(fakedriver.Build(t, fakedriver.Current), path)
}

// realCounts has the JSON keys that may be 0 for such a box: known counts, and numbers that begin at 0.
var realCounts = map[string]string{
	"index": "a GPU's", "gpu": "likewise", "gpus": "likewise",
	"answering": "probes that answer", "unasked": "processes that were not asked for one",
	"groups_left_out": "lines that a document has no room for", "events_left_out": "likewise",
	"count": "flushes, of the audit log and the daemon", "flushes": "those of which it is known what stayed free",
	"not_measured": "those of which it is not known", "stayed_bytes": "of no flush", "freed_bytes": "likewise",
	"rescued_count": "rescues by this daemon", "not_rescued_count": "likewise",
	"alerts": "that a GPU will be full", "hits": "of them", "false": "of them", "acted_on": "of them", "undecided": "of them",
	"interval_held": "of them", "interval_of": "of them",
	"fills": "by the memory of the first GPU, which is the machine's and known", "missed": "of them", "sudden": "of them",
	"boxes_down": "of a fleet",
}

// zeros adds to found the keys of a document that are 0 and not in realCounts.
func zeros(key string, value any, found map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for key, value := range v {
			zeros(key, value, found)
		}
	case []any:
		for _, value := range v {
			zeros(key, value, found)
		}
	case float64:
		if v == 0 && realCounts[key] == "" {
			found[key] = true
		}
	}
}

// zeroWord is a 0 in a text, with or without a unit.
var zeroWord = regexp.MustCompile(`(^|[\s>±+(:|])0(\.0+)?(%|[BKMGTWC]|°C|[hms]|/h|/s)?($|[\s<,;)/|])`)

// knownZeros are the parts of texts that may have a 0: numbers of GPUs, axes, drawings,
// times since, and real counts.
var knownZeros = regexp.MustCompile(`(?s)<style>.*?</style>|<svg.*?</svg>|(?m)^[ >]*0 |^box +0 |^\| 0 \||<tr>(<td class="name">\?</td>)?<td class="">0</td>|GPU 0|gpu 0|fullest 0| 0[┤│]|` +
	`\b0s|0 down|alerts:? +0$|flushes:? +0$|ran out( on a GPU|):? +0$|<dt>(alerts|flushes|times that memory ran out on a GPU)</dt><dd>0|<b>0</b><span>times`)

// TestUnknownIsNeverZero: no screen, snapshot, headroom, scrape, report or fleet has a 0 for a figure
// that neither the driver nor a probe reports.
func TestUnknownIsNeverZero(t *testing.T) {
	t.Parallel()
	driver := silentBox(t)
	d := startDaemon(t, driver, "--record", "--serve", "127.0.0.1:0", "--serve-snapshot")
	d.wait("READY", func() bool { return d.notified("READY=1", 1) })
	output := func(args ...string) string {
		cmd := d.command(args...)
		out, _ := cmd.Output() // its exit code is an answer, too
		if cmd.ProcessState.ExitCode() == command.ExitUsage {
			t.Errorf("%v is refused", args)
		}
		return string(out)
	}
	_, metrics := d.exported("/metrics")
	_, exported := d.exported("/snapshot.json")
	texts := map[string]string{"table": output("once"), "line": output("once", "--line"), "headroom": output("headroom", "--need", "30G")}
	documents := map[string]string{
		"once": output("once", "--format", "json"), "snapshot.json": exported, "headroom": output("headroom", "--need", "30G", "--format", "json"),
	}
	ssh := filepath.Join(t.TempDir(), "ssh") // to this box
	if err := writeProgram(ssh, []byte("#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done; shift 3; exec "+os.Args[0]+" \"$@\"\n")); err != nil {
		t.Fatal(err)
	}
	d.environ = append(d.environ, "PATH="+filepath.Dir(ssh)+":"+os.Getenv("PATH"))
	texts["fleet"], documents["fleet"] = output("fleet", "once", "--ssh", "box"), output("fleet", "once", "--ssh", "box", "--format", "json")
	tables := map[string]string{"once": output("once", "--format", "csv")}
	s := onScreen(t, d.environ, os.Args[0])
	s.until("driver 550", "H100")
	texts["screen"] = s.text()
	s.press("i")
	s.until("nothing was measured")
	texts["GPU page"] = s.text()
	s.press("q")
	s.press("q")
	s.ended()
	d.wait("some samples", func() bool { // of which the recording has some
		out, _ := d.command("export", filepath.Join(d.home, "recordings")).Output()
		return strings.Count(string(out), "\n") > 8
	})
	d.signal(syscall.SIGTERM)
	_ = d.cmd.Wait()
	recordings := filepath.Join(d.home, "recordings")
	for i, line := range strings.Split(strings.TrimSpace(output("export", recordings)), "\n") {
		documents["export "+string(rune('a'+i%26))] = line
	}
	tables["export"] = output("export", recordings, "--format", "csv")
	documents["report"] = output("report", recordings, "--format", "json")
	for _, format := range []string{"text", "markdown", "html"} {
		texts["report as "+format] = output("report", recordings, "--format", format)
	}

	for name, content := range documents {
		var document any
		if err := json.Unmarshal([]byte(content), &document); err != nil {
			t.Errorf("%s: %v\n%.300s", name, err, content)
		}
		found := map[string]bool{}
		zeros("", document, found)
		if len(found) > 0 {
			t.Errorf("%s has 0 for %v", name, slices.Sorted(maps.Keys(found)))
		}
	}
	for name, content := range tables {
		records, err := csv.NewReader(strings.NewReader(content)).ReadAll()
		if err != nil || len(records) < 2 {
			t.Fatalf("%s: %v\n%s", name, err, content)
		}
		for _, record := range records[1:] {
			for i, field := range record {
				if field == "0" && records[0][i] != "gpu_index" {
					t.Errorf("%s has 0 for %s", name, records[0][i])
				}
			}
		}
	}
	// The daemon's counts of its own work.
	counted := []string{"vramscope_probes_answering", "vramscope_probes_unasked", "vramscope_recording_paused", "vramscope_recording_errors_total", "vramscope_recording_lost_samples_total", "vramscope_driver_failures_total", "vramscope_late_samples_total"}
	for line := range strings.Lines(metrics) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if value == "0" && !slices.Contains(counted, name) {
			t.Errorf("a scrape has %s", line)
		}
	}
	for name, content := range texts {
		if len(content) == 0 {
			t.Errorf("%s is empty", name)
		}
		for line := range strings.Lines(knownZeros.ReplaceAllString(content, "")) {
			if zeroWord.MatchString(line) {
				t.Errorf("%s has %s", name, line)
			}
		}
	}
}
