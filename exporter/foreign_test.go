package exporter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"vramscope/internal/needs"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// contrib is the folder with the files for Prometheus, Alertmanager and Grafana.
var contrib = filepath.Join("..", "contrib", "prometheus")

// python returns a Python that has a module.
func python(t *testing.T, module string) string {
	t.Helper()
	interpreter := os.Getenv("VRAMSCOPE_PYTHON")
	if interpreter == "" {
		interpreter = needs.Tool(t, "python3")
	}
	if err := exec.Command(interpreter, "-c", "import "+module).Run(); err != nil {
		needs.Missing(t, "%s has no module %s", interpreter, module)
	}
	return interpreter
}

// TestPrometheusClientReadsTheText: the parsers of another implementation read both formats,
// including hostile names, and find every series.
func TestPrometheusClientReadsTheText(t *testing.T) {
	interpreter := python(t, "prometheus_client")
	drawn, events := eventful()
	for name, snap := range map[string]*snapshot.Snapshot{
		"drawn": drawn, "16 × 64": sixteen(true), "hostile": snapshottest.Hostile(snapshottest.DrawnBox(), "\xff\n\"} 1\n# EOF\\"),
	} {
		e := exporting(snap)
		e.Observe(snap, events, nil)
		counts := [2]int{}
		for i, format := range []struct{ accept, module string }{
			{"application/openmetrics-text;version=1.0.0", "prometheus_client.openmetrics.parser"},
			{"text/plain", "prometheus_client.parser"},
		} {
			w := get(t, e, "/metrics", "Accept", format.accept)
			if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || !strings.HasPrefix(got, strings.Split(format.accept, ";")[0]) {
				t.Errorf("%s: asked for %s, got %s", name, format.accept, got)
			}
			cmd := exec.Command(interpreter, "-c", "import sys; from "+format.module+" import text_fd_to_metric_families as families\n"+
				"print(sum(len(f.samples) for f in families(sys.stdin)))")
			cmd.Stdin = bytes.NewReader(w.Body.Bytes())
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %s: %v\n%s", name, format.module, err, out)
			}
			counts[i], _ = strconv.Atoi(strings.TrimSpace(string(out))) // an error counts 0, which fails below
		}
		series := 0
		for line := range strings.Lines(scrape(t, e)) {
			if !strings.HasPrefix(line, "#") {
				series++
			}
		}
		if counts[0] != series || counts[1] != series {
			t.Errorf("%s: %v of %d series", name, counts, series)
		}
	}
}

func accepts(t *testing.T, tool string, arguments ...string) {
	t.Helper()
	cmd := exec.Command(needs.Tool(t, tool), arguments...)
	cmd.Dir = contrib
	if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("FAILED")) {
		t.Errorf("%s %v: %v\n%s", tool, arguments, err, out)
	}
}

func TestPrometheusAcceptsTheConfiguration(t *testing.T) {
	accepts(t, "promtool", "check", "config", "--lint=all", "prometheus.yml")
}

func TestRules(t *testing.T) {
	accepts(t, "promtool", "test", "rules", "rules_test.yml")
}

func TestAlertmanagerAcceptsItsConfiguration(t *testing.T) {
	accepts(t, "amtool", "check-config", "alertmanager.yml")
	for severity, receiver := range map[string]string{"urgent": "urgent", "notice": "notices"} {
		accepts(t, "amtool", "config", "routes", "test", "--config.file=alertmanager.yml", "--verify.receivers="+receiver, "severity="+severity, "alertname=GPUDown")
	}
}

// TestGrafanaKnowsTheDashboard: types generated from Grafana's schema read the dashboard and lose nothing.
func TestGrafanaKnowsTheDashboard(t *testing.T) {
	dashboard, err := os.Open(filepath.Join(contrib, "grafana-dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dashboard.Close() }()
	cmd := exec.Command(python(t, "grafana_foundation_sdk"), filepath.Join("testdata", "dashboard.py"))
	cmd.Stdin = dashboard
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestDashboardQueriesParse: promtool parses each query, as the expression of a rule.
func TestDashboardQueriesParse(t *testing.T) {
	dashboard, err := os.ReadFile(filepath.Join(contrib, "grafana-dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	rules, asked := "groups:\n- name: dashboard\n  rules:\n", 0
	for _, found := range regexp.MustCompile(`"expr": ("(?:[^"\\]|\\.)*")`).FindAllStringSubmatch(string(dashboard), -1) {
		// A JSON string is also a YAML string.
		rules += fmt.Sprintf("  - record: query_%d\n    expr: %s\n", asked, strings.ReplaceAll(found[1], "$__rate_interval", "1m"))
		asked++
	}
	path := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(path, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	accepts(t, "promtool", "check", "rules", "--lint=all", path)
	if asked < 15 {
		t.Errorf("only %d queries were found", asked)
	}
}

// TestDashboardDrawsFewLines: each query of a graph is an aggregate, or selects at most twenty series.
func TestDashboardDrawsFewLines(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(contrib, "grafana-dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Type, Title string
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(content, &dashboard); err != nil {
		t.Fatal(err)
	}
	few := regexp.MustCompile(`^(sum|avg|min|max)\(| and (topk|bottomk)\(20, .* @ end\(\)\)+$`)
	graphs := 0
	for _, p := range dashboard.Panels {
		if p.Type != "timeseries" {
			continue
		}
		for _, target := range p.Targets {
			if graphs++; !few.MatchString(target.Expr) {
				t.Errorf("%s: %s", p.Title, target.Expr)
			}
		}
	}
	if graphs < 10 {
		t.Errorf("only %d graphs were found", graphs)
	}
}

// TestContribKnowsTheNames: every name in the rules and the dashboard is exported, or recorded by a
// rule.
func TestContribKnowsTheNames(t *testing.T) {
	known := map[string]bool{}
	for _, f := range everyName() {
		known[f.Name] = true
	}
	name := regexp.MustCompile(`[a-z_:]*vramscope_[a-z0-9_:]+`)
	files, err := filepath.Glob(filepath.Join(contrib, "*"))
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, file := range append([]string{filepath.Join(contrib, "rules.yml")}, files...) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, recorded := range regexp.MustCompile(`record: (\S+)`).FindAllStringSubmatch(string(content), -1) {
			known[recorded[1]] = true
		}
		for _, used := range name.FindAllString(string(content), -1) {
			if asked++; !known[used] {
				t.Errorf("%s: there is no metric %s", file, used)
			}
		}
	}
	if asked < 50 {
		t.Errorf("only %d names were found", asked)
	}
}
