package exporter

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/metric"
)

// TestDocumentationHasEveryMetric: the tables of docs/exporter.md follow from metric's.
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

// documented are all names, a table for each subject.
func documented() string {
	var b strings.Builder
	titles := map[metric.Subject]string{0: "The box", metric.GPU: "A GPU", metric.Instance: "A MIG instance", metric.Process: "A process"}
	last := ""
	for _, f := range metric.Families() {
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
