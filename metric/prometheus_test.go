package metric

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestExportedNamesAreInBaseUnits: a metric's name ends in the word for its unit, if there is one, and no name occurs twice.
func TestExportedNamesAreInBaseUnits(t *testing.T) {
	ends := map[Unit]string{
		Bytes: "_bytes", BytesPerSecond: "_bytes_per_second", Percent: "_ratio", Celsius: "_celsius", Watts: "_watts", Joules: "_joules", Megahertz: "_hertz",
	}
	name := regexp.MustCompile(`^vramscope_[a-z][a-z0-9_]*[a-z0-9]$`)
	seen := map[string]bool{}
	take := func(exported string) {
		if !name.MatchString(exported) || seen[exported] {
			t.Errorf("%q is no name, or two metrics have it", exported)
		}
		seen[exported] = true
	}
	// A scrape of 16 GPUs has 300 kB. To limit that, the exporter leaves these figures out.
	left := []ID{SMClockMax, MemoryClockMax, ClockReasons, ComputeMode}
	for id := range Count {
		m := &Table[id]
		if m.Prometheus == "" {
			if m.Of&GPU != 0 && !slices.Contains(left, id) {
				t.Errorf("%s is not exported: give its row a Prometheus name", m.Name)
			}
			continue
		}
		if end := ends[m.Unit]; !strings.HasSuffix(strings.TrimSuffix(m.Prometheus, "_total"), end) {
			t.Errorf("%s is in %s and does not end in %s", m.Prometheus, m.Unit, end)
		}
		take(m.ExportedAs(GPU))
	}
	for _, e := range ExportTable {
		take(e.Name)
		if e.Help == "" {
			t.Errorf("%s has no help", e.Name)
		}
	}
}

func TestExportedAs(t *testing.T) {
	for _, c := range []struct {
		id   ID
		of   Subject
		want string
	}{
		{Used, GPU, "vramscope_gpu_memory_used_bytes"},
		{Used, Process, "vramscope_process_memory_used_bytes"},
		{Cached, GPU, "vramscope_gpu_memory_cached_bytes"},
		{Cached, Instance, "vramscope_mig_memory_cached_bytes"},
		{Total, Process, ""},
		{CPU, Process, ""},
	} {
		if got := Table[c.id].ExportedAs(c.of); got != c.want {
			t.Errorf("%s of %d is %q, want %q", Table[c.id].Name, c.of, got, c.want)
		}
	}
	if Percent.Base(50) != .5 || Megahertz.Base(1980) != 1.98e9 || Bytes.Base(7) != 7 || !IsCounter("a_total") || IsCounter("a_bytes") {
		t.Error("a value is not in its base unit")
	}
}
