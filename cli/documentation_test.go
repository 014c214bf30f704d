package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"vramscope/cli/render"
	"vramscope/metric"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/schema"
)

// TestDocumentationNamesEveryField: docs/json.md cannot forget a field of the
// JSON or of the CSV output.
func TestDocumentationNamesEveryField(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc := string(content)
	for _, field := range fieldsOf(reflect.TypeFor[schema.FlushDocument](), fieldsOf(reflect.TypeFor[schema.Document](), nil)) {
		if !strings.Contains(doc, "`"+field+"`") {
			t.Errorf("docs/json.md does not document %q", field)
		}
	}
	_, list, _ := strings.Cut(doc, "    time, host, simulated,")
	list, _, _ = strings.Cut("time, host, simulated,"+list, "\n\n")
	for id := metric.Fan; id < metric.Count; id++ {
		list += ", gpu_" + metric.Table[id].Name
	}
	list += ", memory_utilization_percent, encoder_utilization_percent, decoder_utilization_percent"
	documented := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
	var out bytes.Buffer
	if err := render.CSV(&out, snapshottest.OneSample()); err != nil {
		t.Fatal(err)
	}
	titles, _, _ := strings.Cut(out.String(), "\n")
	written := strings.Split(titles, ",")
	if !reflect.DeepEqual(documented, written) {
		t.Errorf("CSV fields as documented\n%v\nas written\n%v", documented, written)
	}
}

// TestHeadroomDocumentationNamesEveryField: docs/headroom.md cannot forget one.
func TestHeadroomDocumentationNamesEveryField(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "docs", "headroom.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range fieldsOf(reflect.TypeFor[schema.HeadroomDocument](), nil) {
		if !strings.Contains(string(content), "`"+field+"`") {
			t.Errorf("docs/headroom.md does not document %q", field)
		}
	}
}

// fieldsOf lists the JSON names in a type and in the types within it.
func fieldsOf(in reflect.Type, names []string) []string {
	switch in.Kind() {
	case reflect.Pointer, reflect.Slice:
		return fieldsOf(in.Elem(), names)
	case reflect.Struct:
		for i := range in.NumField() {
			if in.Field(i).Anonymous {
				names = fieldsOf(in.Field(i).Type, names)
			}
			name := in.Field(i).Tag.Get("json")
			if name == "" {
				continue // the inside of an optional value or a time
			}
			names = fieldsOf(in.Field(i).Type, append(names, name))
		}
	}
	return names
}
