package exporter

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vramscope/metric"
)

// TestDocumentationHasEveryMetric: the tables of docs/exporter.md match those of package metric.
func TestDocumentationHasEveryMetric(t *testing.T) {
	path := filepath.Join("..", "docs", "exporter.md")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- metrics -->\n", "<!-- /metrics -->"
	before, rest, found := strings.Cut(string(content), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the metrics", path)
	}
	want := before + begin + documented() + end + after
	if want == string(content) {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "" {
		t.Fatalf("%s does not follow metric's tables: run make golden", path)
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// documented returns a table of all names for each subject.
func documented() string {
	var b strings.Builder
	titles := map[metric.Subject]string{0: "The box", metric.GPU: "A GPU", metric.Instance: "A MIG instance", metric.Process: "A process"}
	last := ""
	for _, f := range everyName() {
		if title := titles[f.Of]; title != last {
			fmt.Fprintf(&b, "\n### %s\n\n| name | labels | |\n|---|---|---|\n", title)
			last = title
		}
		labels := ""
		if len(f.Labels) > 0 {
			labels = "`" + strings.Join(f.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Name, labels, f.Help)
	}
	return b.String() + "\n"
}

// exported is an exported name, with the labels and the help of its series.
type exported struct {
	Name   string
	Of     metric.Subject // 0 for the whole box
	Labels []string
	Help   string
}

// everyName returns all exported names, in the order of their documentation: those of the box, of
// GPUs, of MIG instances and of processes.
func everyName() []exported {
	var all []exported
	for _, subject := range []metric.Subject{0, metric.GPU, metric.Instance, metric.Process} {
		for i := range metric.ExportTable {
			if e := &metric.ExportTable[i]; e.Of == subject {
				all = append(all, exported{e.Name, subject, slices.Concat(subject.Labels(), e.Labels), e.Help})
			}
		}
		for id := range metric.Count {
			name := metric.Table[id].ExportedAs(subject)
			if name != "" && (subject != metric.Instance || id < metric.FirstSensor && id != metric.Unattributed) {
				all = append(all, exported{name, subject, subject.Labels(), metric.Table[id].ExportedHelp()})
			}
		}
	}
	return all
}

// TestHelpStandsAlone: a scrape shows each help by itself, so the help of a process or a MIG instance
// must not be about a GPU.
func TestHelpStandsAlone(t *testing.T) {
	seen := map[string]string{}
	for _, f := range everyName() {
		if before, taken := seen[f.Help]; taken && !strings.HasPrefix(f.Name, "vramscope_mig_") && !strings.HasPrefix(f.Name, "vramscope_process_") {
			t.Errorf("%s and %s have the same help", f.Name, before)
		}
		seen[f.Help] = f.Name
		if (f.Of == metric.Instance || f.Of == metric.Process) && strings.Contains(f.Help, "GPU") {
			t.Errorf("%s: %s", f.Name, f.Help)
		}
		if first, _, _ := strings.Cut(f.Help, " "); strings.HasSuffix(first, ":") || first == "Of" || strings.Contains(f.Help, "likewise") || strings.Contains(f.Help, "these ") {
			t.Errorf("%s: %s", f.Name, f.Help)
		}
	}
}
