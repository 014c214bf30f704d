package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vramscope/internal/forecastlab/regime"
)

func TestReplaceKeepsMarks(t *testing.T) {
	document := "before\n<!-- a -->\nold\n<!-- /a -->\nafter\n"
	got, err := replace(document, "a", "| new |\n")
	if want := "before\n<!-- a -->\n| new |\n<!-- /a -->\nafter\n"; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	if again, _ := replace(got, "a", "| new |\n"); again != got {
		t.Errorf("a second time it is %q", again)
	}
	if _, err := replace(document, "b", ""); err == nil {
		t.Error("marks that are not there are found")
	}
}

// The document has room for every table, and none of them is empty.
func TestDocumentHasEveryTable(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "forecast.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gates", "ablation", "baselines", "real"} {
		_, rest, ok := strings.Cut(string(text), "<!-- "+name+" -->")
		table, _, closed := strings.Cut(rest, "<!-- /"+name+" -->")
		if !ok || !closed || strings.Count(table, "\n|") < 5 {
			t.Errorf("no table of %s", name)
		}
	}
}

func TestTablesHaveEveryRegimeAndMethod(t *testing.T) {
	regimes := regime.All()
	for i := range regimes { // the series are cut short: the tables have the same rows
		make := regimes[i].Make
		regimes[i].Make = func(r *rand.Rand) []float64 { y := make(r); return y[:min(len(y), 600)] }
	}
	m, err := measure(seeds{first: 0, count: 1}, regimes)
	if err != nil {
		t.Fatal(err)
	}
	for name, table := range map[string]string{"regimes": m.regimeTable(), "at a minute": m.relative(minute), "details": m.details()} {
		for _, regime := range m.names() {
			if !strings.Contains(table, "\n| "+regime+" |") {
				t.Errorf("%s: no %s", name, regime)
			}
		}
	}
	for _, method := range m.methods {
		if !strings.Contains(m.alarms(), " "+method+" |") {
			t.Errorf("no %s", method)
		}
	}
	gates := slices.Concat(m.gates(), m.monitorGates())
	lines := gateLines(gates)
	for i := range gates {
		if strings.Count(lines, gates[i].what) < len(gates[i].results) {
			t.Errorf("the results of %q are not all printed", gates[i].what)
		}
	}
}

func TestUnknownFigureIsDashAndMissesItsGate(t *testing.T) {
	g := gate{what: "errors", aim: "≤ 2"}
	g.most("a", 1, 2, share)
	g.most("b", unknown, 2, share)
	g.atLeast("c", 3, 2, share)
	g.around("d", 0.9, 0.8, 0.05)
	if got := gateTable([]gate{g, {what: "unmeasured"}}); strings.Contains(got, "unmeasured") || !strings.Contains(got, "| 2 of 4 | **b –; d 90.0 %** |") {
		t.Errorf("the table is %s", got)
	}
	if got := gateLines([]gate{g}); strings.Count(got, "\nmissed") != 2 || !strings.HasPrefix(got, "held") {
		t.Errorf("the lines are %s", got)
	}
}
