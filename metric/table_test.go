package metric

import (
	"math"
	"reflect"
	"regexp"
	"testing"

	"vramscope/internal/quantity"
)

func TestEveryMetricIsDescribed(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	seen := map[string]bool{}
	for id := range Count {
		m := &Table[id]
		if !name.MatchString(m.Name) || seen[m.Name] || m.Unit == "" || m.Help == "" || m.Of == 0 || m.Source == quantity.Nowhere {
			t.Errorf("metric %d is %+v", id, m)
		}
		seen[m.Name] = true
		if sensor := m.whole != nil || m.fraction != nil; sensor != (id >= FirstSensor) {
			t.Errorf("%s: sensor: %v", m.Name, sensor)
		}
	}
}

// Each field of Sensors belongs to the metric of its JSON key.
func TestSensorsHaveTheFieldsOfTheTable(t *testing.T) {
	fields := reflect.TypeFor[Sensors]()
	if fields.NumField() != int(Count-FirstSensor) {
		t.Fatalf("%d fields, %d metrics", fields.NumField(), Count-FirstSensor)
	}
	for id := FirstSensor; id < Count; id++ {
		var s Sensors
		s.Set(id, quantity.From(7.0, quantity.Driver))
		field := fields.Field(int(id - FirstSensor))
		if field.Tag.Get("json") != Table[id].Name || reflect.ValueOf(s).FieldByIndex(field.Index).IsZero() || s.Value(id).Or(0) != 7 {
			t.Errorf("field %s, metric %s: %+v", field.Name, Table[id].Name, s)
		}
		if s.Set(id, Float{}); s != (Sensors{}) {
			t.Errorf("%s cannot be unknown again: %+v", Table[id].Name, s)
		}
	}
}

func TestValuesAreFinite(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		s := Sensors{Power: quantity.From(v, quantity.Driver)}
		if s.Value(Power).Known() || s.Finite().Power.Known() {
			t.Errorf("%v W is known", v)
		}
	}
}

func TestReadingASensorAllocatesNothing(t *testing.T) {
	s := &Sensors{Power: quantity.From(612.3, quantity.Driver)}
	if n := testing.AllocsPerRun(100, func() {
		for id := FirstSensor; id < Count; id++ {
			s.Set(id, s.Value(id))
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
