package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/forecast"
	"vramscope/internal/forecastlab/regime"
)

// A library that forecasts exactly is better than all others at its origins, and only
// those are scored.
func TestLibrariesAreScoredAtTheirOrigins(t *testing.T) {
	dir, s, leak := t.TempDir(), seeds{first: 5, count: 1}, regime.Regime{Name: "leak", Make: regime.Leak}
	series := made(&leak, s)[0]
	var b strings.Builder
	b.WriteString("series_id,t_seconds,horizon_seconds,median,lower80,upper80,lower95,upper95\n")
	origins := []int{100, 107}
	for _, i := range origins {
		for _, h := range forecast.Horizons {
			v := series.Samples[min(i+int(h.Seconds()), len(series.Samples)-1)].Used
			fmt.Fprintf(&b, "%s,%d,%.0f,%d,%d,%d,%d,%d\n", series.ID, i, h.Seconds(), v, v, v, v, v)
		}
	}
	for _, name := range libraries {
		path := libraryFile(dir, name, "leak")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := measureLibraries(dir, s)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.rows) != 1 || m.origins != len(origins) {
		t.Fatalf("%d origins in %d regimes", m.origins, len(m.rows))
	}
	if table := m.table(); !strings.Contains(table, "Better than vramscope by a twentieth, 1 min ahead: leak (AutoETS 0.0") {
		t.Errorf("the table is\n%s", table)
	}
	if err := os.Remove(libraryFile(dir, "AutoTheta", "leak")); err != nil {
		t.Fatal(err)
	}
	if _, err := measureLibraries(dir, s); err == nil {
		t.Error("a missing file is no error")
	}
}
