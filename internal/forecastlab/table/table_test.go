package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vramscope/forecast/backtest"
	"vramscope/internal/forecastlab/regime"
)

func TestReplaceKeepsMarks(t *testing.T) {
	document := "before\n" + begin + "old\n" + end + "\nafter\n"
	got, err := replace(document, "| new |\n")
	if want := "before\n" + begin + "| new |\n" + end + "\nafter\n"; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	if again, _ := replace(got, "| new |\n"); again != got {
		t.Errorf("a second time it is %q", again)
	}
	if _, err := replace("no marks", ""); err == nil {
		t.Error("marks that are not there are found")
	}
}

func TestDocumentHasTableOfGates(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "forecast.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), begin)
	table, _, closed := strings.Cut(rest, end)
	if !ok || !closed || strings.Count(table, "\n|") < 5 {
		t.Error("there is none")
	}
}

func TestEveryRegimeIsMeasuredByEveryMethod(t *testing.T) {
	regimes := regime.All()
	for i := range regimes { // the series are cut short: the tables have the same rows
		make := regimes[i].Make
		regimes[i].Make = func(r *rand.Rand) []float64 { y := make(r); return y[:min(len(y), 600)] }
	}
	m, err := measure(seeds{first: 0, count: 1}, regimes)
	if err != nil {
		t.Fatal(err)
	}
	table := m.regimeTable()
	for i := range m.rows {
		r := &m.rows[i]
		if !strings.Contains(table, "\n| "+r.Name+" |") {
			t.Errorf("no %s", r.Name)
		}
		for j, method := range methods() {
			if r.summaries[j].Horizons[minute].Forecasts == 0 {
				t.Errorf("%s: no forecasts by %s", r.Name, method.name)
			}
		}
	}
	for _, g := range slices.Concat(m.gates(), m.monitorGates()) {
		if len(g.results) == 0 {
			t.Errorf("%q is not measured", g.what)
		}
	}
}

func TestUnknownFigureIsDashAndMissesItsGate(t *testing.T) {
	g := gate{what: "errors", aim: "≤ 2"}
	g.atMost("a", 1, 2, share)
	g.atMost("b", unknown, 2, share)
	g.atLeast("c", 3, 2, share)
	g.near("d", 0.9, 0.8, 0.05)
	if got := gateTable([]gate{g, {what: "unmeasured"}}); strings.Contains(got, "unmeasured") || !strings.Contains(got, "| 2 of 4 | **b –; d 90.0 %** |") {
		t.Errorf("the table is %s", got)
	}
}

func TestPooledShareWeighsCounts(t *testing.T) {
	var p pooled
	if p.share().Known() {
		t.Error("a share of nothing is known")
	}
	p.add(1, 1)
	p.add(0.5, 3)
	p.add(unknown, 0)
	if got := p.share(); got != backtest.Figure(2.5/4) {
		t.Errorf("%v, want 0.625", got)
	}
}
