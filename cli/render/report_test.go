package render

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/schema"
)

// A process can have any name: in Markdown the name stays in its cell, and neither Markdown nor text
// has the name's control characters.
func TestHostileNamesInAReport(t *testing.T) {
	name := "a|b `c` <script>alert(1)</script> [d](http://e) **f**\x1b[31m\u202e\nnext"
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	r := &schema.Report{
		Host: schema.Text(name), By: "gpu", Period: schema.ReportPeriod{From: schema.Time(noon), To: schema.Time(noon.Add(time.Hour))},
		Groups: []schema.ReportGroup{{Name: name, User: schema.Text(name), GPUs: []int{0}, WastedGiBHours: quantity.From(1.0, quantity.Computed), Failures: schema.ReportFailures{OutOfMemory: quantity.From(int64(1), quantity.Probe)}}},
	}
	markdown, plain := ReportMarkdown(r), Report(r, SignsFor(false), 0)
	for format, out := range map[string]string{"Markdown": markdown, "text": plain} {
		if strings.ContainsAny(out, "\x1b\u202e") || !strings.Contains(out, "alert") {
			t.Errorf("%s: %q", format, out)
		}
	}
	if bare := regexp.MustCompile(`\\.`).ReplaceAllString(markdown, ""); strings.ContainsAny(bare, "<`*[") {
		t.Errorf("a sign that Markdown reads is not escaped:\n%s", bare)
	}
	header := 0
	for line := range strings.Lines(markdown) {
		bars := strings.Count(line, "|") - strings.Count(line, `\|`)
		if strings.Contains(line, "---") && strings.Trim(line, "|-: \n") == "" {
			header = bars
		}
		if strings.Contains(line, "alert") && strings.HasPrefix(line, "|") && (bars == 0 || bars != header) {
			t.Errorf("%d bars, %d in its header: %s", bars, header, line)
		}
	}
}
