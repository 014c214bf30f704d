package exporter

import (
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"vramscope/internal/text"
	"vramscope/metric"
)

// families are the descriptions of all that is exported.
type families struct {
	table    map[metric.Subject]*[metric.Count]*family
	exported [metric.ExportedCount]*family
}

// family is what all series of a name share.
type family struct {
	*prometheus.Desc
	counter bool
}

func newFamily(name, help string) *family {
	return &family{prometheus.NewDesc(name, help, nil, nil), metric.IsCounter(name)}
}

func newFamilies() families {
	f := families{table: map[metric.Subject]*[metric.Count]*family{}}
	for _, of := range []metric.Subject{metric.GPU, metric.Instance, metric.Process} {
		f.table[of] = new([metric.Count]*family)
		for id := range metric.Count {
			if name := metric.Table[id].ExportedAs(of); name != "" {
				f.table[of][id] = newFamily(name, metric.Table[id].ExportedHelp())
			}
		}
	}
	for id := range metric.ExportTable {
		f.exported[id] = newFamily(metric.ExportTable[id].Name, metric.ExportTable[id].Help)
	}
	return f
}

// series is one value with its labels. It is a prometheus.Metric.
type series struct {
	*family
	labels []*dto.LabelPair
	value  float64
}

// Desc implements prometheus.Metric.
func (s *series) Desc() *prometheus.Desc { return s.family.Desc }

// Write implements prometheus.Metric.
func (s *series) Write(m *dto.Metric) error {
	m.Label = s.labels
	if s.counter {
		m.Counter = &dto.Counter{Value: proto.Float64(s.value)}
	} else {
		m.Gauge = &dto.Gauge{Value: proto.Float64(s.value)}
	}
	return nil
}

// writer writes series, those of one subject after those of another.
type writer struct {
	out      chan<- prometheus.Metric
	families *families
}

// measured writes a metric of Table, if it is known.
func (w *writer) measured(of metric.Subject, id metric.ID, labels labels, value metric.Float) {
	if v, ok := value.Value(); ok && w.families.table[of][id] != nil {
		w.out <- &series{w.families.table[of][id], labels, metric.Table[id].Unit.Base(v)}
	}
}

// exported writes a metric of ExportTable; values are those of its own labels.
func (w *writer) exported(id metric.ExportedID, of labels, value float64, values ...string) {
	w.out <- &series{w.families.exported[id], of.with(metric.ExportTable[id].Labels, values), value}
}

// labels are sorted by name; none has an empty value.
type labels []*dto.LabelPair

// with are the labels and others, as far as these have a value.
func (l labels) with(names, values []string) labels {
	if len(values) == 0 {
		return l
	}
	out := slices.Grow(slices.Clone(l), len(values))
	for i, value := range values {
		if value = clean(value); value != "" {
			out = append(out, &dto.LabelPair{Name: proto.String(names[i]), Value: &value})
		}
	}
	slices.SortFunc(out, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
	return out
}

// labelsOf are the labels of a subject.
func labelsOf(of metric.Subject, values ...string) labels {
	return labels{}.with(of.Labels(), values)
}

func number(n int) string { return strconv.Itoa(n) }

// longest is how many characters of a text from outside a label has.
const longest = 128

// clean is a text from outside as a label's value: short, printable UTF-8.
func clean(s string) string {
	if len(s) <= longest {
		return text.Clean(s)
	}
	runes := []rune(text.Clean(s[:min(len(s), 4*longest)]))
	return string(runes[:min(len(runes), longest)])
}
