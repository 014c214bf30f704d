package exporter

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// parse reads the classic text.
func parse(text string) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(strings.NewReader(text))
}

// TestPrometheusOwnEncoderWritesTheSame: after Prometheus' own parser has read our text, Prometheus' own
// encoder writes the same bytes, in both formats.
func TestPrometheusOwnEncoderWritesTheSame(t *testing.T) {
	drawn, events := eventful()
	for name, snap := range map[string]*snapshot.Snapshot{
		"drawn": drawn, "16 × 64": sixteen(true), "hostile": snapshottest.Hostile(snapshottest.DrawnBox(), "\xff\n\"} 1\n# EOF\\"),
	} {
		e := exporting(snap)
		e.Observe(snap, events, nil)
		w := e.gather()
		families, err := parse(string(w.text(false)))
		if err != nil {
			t.Fatal(err)
		}
		for openMetrics, format := range map[bool]expfmt.FormatType{false: expfmt.TypeTextPlain, true: expfmt.TypeOpenMetrics} {
			var want bytes.Buffer
			encoder := expfmt.NewEncoder(&want, expfmt.NewFormat(format))
			for _, name := range slices.Sorted(maps.Keys(families)) {
				if err := encoder.Encode(families[name]); err != nil {
					t.Fatal(err)
				}
			}
			if closer, ok := encoder.(expfmt.Closer); ok {
				_ = closer.Close() // writes # EOF into a Buffer
			}
			if got := w.text(openMetrics); string(got) != want.String() {
				t.Errorf("%s, OpenMetrics %v: %d bytes, want %d:\n%s", name, openMetrics, len(got), want.Len(), firstDifference(string(got), want.String()))
			}
		}
	}
}

func firstDifference(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return a[max(i-60, 0):min(i+60, len(a))] + "\n---\n" + b[max(i-60, 0):min(i+60, len(b))]
}

// TestValues: values are written as Prometheus' own encoder writes them.
func TestValues(t *testing.T) {
	for _, text := range []string{"NaN", "+Inf", "-Inf", "0", "1", "-1", "0.5", "1e+09", "1.5e-07", "123456"} {
		families, err := parse("a " + text + "\n")
		if err != nil {
			t.Fatal(err)
		}
		for openMetrics, format := range map[bool]expfmt.FormatType{false: expfmt.TypeTextPlain, true: expfmt.TypeOpenMetrics} {
			var want bytes.Buffer
			if err := expfmt.NewEncoder(&want, expfmt.NewFormat(format)).Encode(families["a"]); err != nil {
				t.Fatal(err)
			}
			value := families["a"].Metric[0].Untyped.GetValue()
			if got := string(appendValue([]byte("a "), value, openMetrics)) + "\n"; !strings.HasSuffix(want.String(), got) {
				t.Errorf("%s, OpenMetrics %v: %q, want %q", text, openMetrics, got, want.String())
			}
		}
	}
}

// TestTheFirstOfTwoSeriesStays: Prometheus would refuse all series if two had the same labels.
func TestTheFirstOfTwoSeriesStays(t *testing.T) {
	w := writer{}
	for i, user := range []string{"bob", "alice", "bob"} {
		w.exported(0, nil, float64(i), user)
	}
	w.exported(0, nil, 3, "", "bob") // the value "bob" in another label
	const name = "vramscope_host_info{"
	has(t, string(w.text(false)), name+`host="alice"} 1`, name+`host="bob"} 0`, name+`version="bob"} 3`)
	if n := strings.Count(string(w.text(false)), "\n"+name); n != 3 {
		t.Errorf("%d series", n)
	}
}
