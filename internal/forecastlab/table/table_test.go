package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/forecast/backtest"
)

func TestReplaceKeepsMarks(t *testing.T) {
	document := "before\n<!-- a -->\nold\n<!-- /a -->\nafter\n"
	got, err := replace(document, "a", "| new |\n")
	if want := "before\n<!-- a -->\n\n| new |\n\n<!-- /a -->\nafter\n"; err != nil || got != want {
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
	for _, name := range []string{"gates", "changes", "regimes", "baselines", "alarms", "monitor", "real", "lstm"} {
		_, rest, ok := strings.Cut(string(text), "<!-- "+name+" -->")
		table, _, closed := strings.Cut(rest, "<!-- /"+name+" -->")
		if !ok || !closed || strings.Count(table, "\n|") < 5 {
			t.Errorf("no table of %s", name)
		}
	}
}

func TestTablesHaveEveryRegimeAndMethod(t *testing.T) {
	m, err := measure(1, 0, func() time.Time { return time.Unix(0, 0) })
	if err != nil {
		t.Fatal(err)
	}
	for name, table := range map[string]string{"regimes": m.regimes(), "baselines": m.baselines()} {
		for _, regime := range m.regimeNames {
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
	gates := m.gateList()
	missed := strings.Count(m.gates(), "**missed**")
	for _, g := range gates {
		if !g.met {
			missed--
		}
	}
	if len(gates) < 50 || missed != 0 {
		t.Errorf("%d gates, and %d more are called missed than are", len(gates), missed)
	}
	if share(backtest.Figure(math.NaN())) != "–" {
		t.Error("unknown is written as a number")
	}
}
