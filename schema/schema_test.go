package schema_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"vramscope/forecast/backtest"
	"vramscope/guard/advice"
	"vramscope/memoryviz"
	"vramscope/memoryviz/whatif"
	"vramscope/metric"
	"vramscope/recording/why"
	"vramscope/schema"
)

// object is the part of an object's JSON Schema that this test reads.
type object struct {
	Ref        string `json:"$ref"`
	Required   []string
	Properties map[string]*object
	Defs       map[string]*object `json:"$defs"`
	Items      *object
	OneOf      []*object
}

// files has the loaded schema files, by name.
type files map[string]*object

func (f files) load(t *testing.T, name string) *object {
	t.Helper()
	if f[name] == nil {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f[name] = &object{}
		if err := json.Unmarshal(content, f[name]); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return f[name]
}

func (f files) resolve(t *testing.T, file string, o *object) (string, *object) {
	t.Helper()
	for o != nil && o.Ref != "" && o.Properties == nil {
		name, def, _ := strings.Cut(o.Ref, "#/$defs/")
		if name != "" {
			file = name
		}
		o = f.load(t, file).Defs[def]
	}
	return file, o
}

// compare checks an object of a schema file against the fields of a Go type.
func (f files) compare(t *testing.T, file, path string, o *object, in reflect.Type) {
	t.Helper()
	for in.Kind() == reflect.Pointer || in.Kind() == reflect.Slice {
		if o != nil && o.Items != nil {
			o = o.Items
		} else if o != nil && len(o.OneOf) == 2 {
			o = o.OneOf[1]
		}
		in = in.Elem()
	}
	if in.Kind() != reflect.Struct || strings.HasPrefix(in.Name(), "Optional[") || in == reflect.TypeFor[schema.Time]() {
		return
	}
	file, o = f.resolve(t, file, o)
	if o == nil {
		t.Errorf("%s: %s describes no object", file, path)
		return
	}
	fields := map[string]bool{} // the JSON names, and whether the field is always present
	for _, field := range reflect.VisibleFields(in) {
		if outer := in.Field(field.Index[0]); len(field.Index) > 1 && outer.Type != reflect.TypeFor[schema.Head]() || field.Type == reflect.TypeFor[schema.Head]() {
			continue // the fields of Head are visited as fields of the document
		}
		if field.Type == reflect.TypeFor[metric.Sensors]() {
			if o.Ref != "sensors.schema.json" {
				t.Errorf("%s: %s does not refer to sensors.schema.json", file, path)
			}
			continue
		}
		name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields[name] = option == ""
		if o.Properties[name] == nil {
			t.Errorf("%s: %s lacks %s", file, path, name)
			continue
		}
		f.compare(t, file, path+"."+name, o.Properties[name], field.Type)
	}
	for name := range o.Properties {
		if _, ok := fields[name]; !ok {
			t.Errorf("%s: %s has %s, and the type has not", file, path, name)
		}
	}
	maps.DeleteFunc(fields, func(_ string, always bool) bool { return !always })
	if want := slices.Sorted(maps.Keys(fields)); !slices.Equal(slices.Sorted(slices.Values(o.Required)), want) {
		t.Errorf("%s: %s requires %v, and the type has %v", file, path, o.Required, want)
	}
}

func TestSchemaFilesHaveTheFieldsOfTheTypes(t *testing.T) {
	f := files{}
	for name, in := range map[string]reflect.Type{
		"once": reflect.TypeFor[schema.Document](), "flush": reflect.TypeFor[schema.FlushDocument](), "holds": reflect.TypeFor[schema.HoldsDocument](),
		"headroom": reflect.TypeFor[schema.HeadroomDocument](), "why": reflect.TypeFor[why.Document](), "backtest": reflect.TypeFor[backtest.Document](),
		"lines": reflect.TypeFor[memoryviz.Document](), "growth": reflect.TypeFor[memoryviz.GrowthDocument](), "what_if": reflect.TypeFor[whatif.Document](),
		"alert":  reflect.TypeFor[schema.AlertDocument](),
		"report": reflect.TypeFor[schema.Report](), "advise": reflect.TypeFor[advice.Document](),
		"guard": reflect.TypeFor[schema.GuardDocument](), "fleet": reflect.TypeFor[schema.Fleet](), "fleet_headroom": reflect.TypeFor[schema.FleetHeadroom](),
	} {
		file := name + ".schema.json"
		f.compare(t, file, "the document", f.load(t, file), in)
	}
	leases := f.load(t, "lease.schema.json").Defs
	f.compare(t, "lease.schema.json", "claimed", leases["claimed"], reflect.TypeFor[schema.LeaseDocument]())
	f.compare(t, "lease.schema.json", "listed", leases["listed"], reflect.TypeFor[schema.LeasesDocument]())
}

// The schema of the sensors, and their rows in docs/json.md, follow from metric.Table.
// UPDATE_GOLDEN=1 rewrites both.
func TestSensorsAreDocumentedAsInTheTable(t *testing.T) {
	var names, properties []string
	var rows strings.Builder
	for id := metric.FirstSensor; id < metric.Count; id++ {
		m := &metric.Table[id]
		kind := "integer"
		if m.Unit == metric.Watts || m.Unit == metric.Joules {
			kind = "number"
		}
		help, err := json.Marshal(strings.ReplaceAll(m.Help, "`", ""))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, `    "`+m.Name+`"`)
		properties = append(properties, `    "`+m.Name+`": {"type": ["`+kind+`", "null"], "description": `+string(help)+`}`)
		rows.WriteString("| `" + m.Name + "` | " + m.Help + " |\n")
	}
	update(t, "sensors.schema.json", func(string) string {
		return `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "sensors.schema.json",
  "title": "what the driver reports of a GPU beside its memory; generated from metric.Table",
  "type": "object",
  "required": [
` + strings.Join(names, ",\n") + `
  ],
  "properties": {
` + strings.Join(properties, ",\n") + `
  }
}
`
	})
	update(t, filepath.Join("..", "docs", "json.md"), func(content string) string {
		first := "| `" + metric.Table[metric.FirstSensor].Name + "`"
		before, rest, ok := strings.Cut(content, first)
		_, after, also := strings.Cut(rest, "| `throttled`")
		if !ok || !also {
			t.Fatal("docs/json.md has no rows of sensors")
		}
		return before + rows.String() + "| `throttled`" + after
	})
}

// update compares a file with the result of change, or rewrites it.
func update(t *testing.T, path string, change func(string) string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	want := change(string(content))
	if want == string(content) {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "" {
		t.Errorf("%s does not follow metric.Table: run make golden", path)
	} else if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
