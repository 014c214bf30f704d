package exporter

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"vramscope/internal/sorted"
	"vramscope/internal/text"
	"vramscope/metric"
)

type family struct {
	help   string
	series []series
}

type series struct {
	labels labels
	value  float64
}

// writer gathers series, by name.
type writer map[string]*family

// add adds a series. Only the first series of a name calls help.
func (w writer) add(name string, help func() string, labels labels, value float64) {
	f := w[name]
	if f == nil {
		f = &family{help: help()}
		w[name] = f
	}
	f.series = append(f.series, series{labels, value})
}

// measured adds a metric of Table if its value is known and the metric is exported for the subject.
func (w writer) measured(subject metric.Subject, id metric.ID, labels labels, value metric.Float) {
	v, known := value.Value()
	m := &metric.Table[id]
	if name := m.ExportedAs(subject); known && name != "" {
		w.add(name, m.ExportedHelp, labels, m.Unit.Base(v))
	}
}

// exported adds a metric of ExportTable; values are the values of the metric's own labels.
func (w writer) exported(id metric.ExportedID, subject labels, value float64, values ...string) {
	m := &metric.ExportTable[id]
	w.add(m.Name, func() string { return m.Help }, subject.with(m.Labels, values), value)
}

// text returns all series, ordered by names and labels, in the classic text or in OpenMetrics:
//
//	https://prometheus.io/docs/instrumenting/exposition_formats/
//	https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md
func (w writer) text(openMetrics bool) []byte {
	escapeHelp := strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	if openMetrics {
		escapeHelp = escapeLabel
	}
	out := make([]byte, 0, 64<<10)
	for _, sample := range slices.Sorted(maps.Keys(w)) {
		all, name, kind := w[sample].series, sample, "gauge"
		// If two series have the same labels, the first stays.
		sorted.Stable(all, func(a, b series) int { return a.labels.compare(b.labels) })
		all = slices.CompactFunc(all, func(a, b series) bool { return slices.Equal(a.labels, b.labels) })
		if metric.IsCounter(name) {
			kind = "counter"
			if openMetrics {
				name = strings.TrimSuffix(name, "_total") // only the samples have the suffix
			}
		}
		out = append(out, "# HELP "+name+" "+escapeHelp.Replace(w[sample].help)+"\n# TYPE "+name+" "+kind+"\n"...)
		for _, s := range all {
			out = s.labels.write(append(out, sample...))
			out = append(appendValue(append(out, ' '), s.value, openMetrics), '\n')
		}
	}
	if openMetrics {
		out = append(out, "# EOF\n"...)
	}
	return out
}

// appendValue writes a value; OpenMetrics wants a point or an exponent in a number.
func appendValue(out []byte, value float64, openMetrics bool) []byte {
	digits := strconv.FormatFloat(value, 'g', -1, 64) // also for +Inf, -Inf and NaN
	if openMetrics && !strings.ContainsAny(digits, ".eIN") {
		digits += ".0"
	}
	return append(out, digits...)
}

type label struct{ name, value string }

// labels are sorted by name; none has an empty value.
type labels []label

// with returns the labels and more, without those that have no value.
func (l labels) with(names, values []string) labels {
	if len(values) == 0 {
		return l
	}
	out := slices.Grow(slices.Clone(l), len(values))
	for i, value := range values {
		if value = clean(value); value != "" {
			out = append(out, label{names[i], value})
		}
	}
	sorted.Stable(out, func(a, b label) int { return strings.Compare(a.name, b.name) })
	return out
}

// compare orders the series of a family: by the number of their labels, then by the labels.
func (l labels) compare(other labels) int {
	byValue := func(a, b label) int { return strings.Compare(a.value, b.value) }
	byName := func(a, b label) int { return strings.Compare(a.name, b.name) }
	return cmp.Or(cmp.Compare(len(l), len(other)), slices.CompareFunc(l, other, byValue), slices.CompareFunc(l, other, byName))
}

var escapeLabel = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func (l labels) write(out []byte) []byte {
	separator := byte('{')
	for _, pair := range l {
		out = append(append(append(out, separator), pair.name...), `="`...)
		out = append(append(out, escapeLabel.Replace(pair.value)...), '"')
		separator = ','
	}
	if len(l) > 0 {
		out = append(out, '}')
	}
	return out
}

func labelsOf(subject metric.Subject, values ...string) labels {
	return labels{}.with(subject.Labels(), values)
}

// maxLabel is the longest label value in characters.
const maxLabel = 128

// clean returns a text as a label value: short, printable UTF-8.
func clean(s string) string {
	if len(s) <= maxLabel {
		return text.Clean(s)
	}
	runes := []rune(text.Clean(s[:min(len(s), 4*maxLabel)]))
	return string(runes[:min(len(runes), maxLabel)])
}
