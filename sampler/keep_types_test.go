package sampler

import (
	"encoding"
	"reflect"
	"strings"
	"testing"
)

// What a driver's upgrade and the daemon's SIGHUP keep is lost as a whole where one
// value in it cannot be encoded.
func TestEveryOptionalValueOfTheStateCanBeKept(t *testing.T) {
	seen := map[reflect.Type]bool{}
	found := 0
	var walk func(reflect.Type)
	walk = func(of reflect.Type) {
		if seen[of] {
			return
		}
		seen[of] = true
		if strings.HasPrefix(of.Name(), "Optional[") {
			found++
			written := false
			for _, one := range []string{"\x01\x00", "\x01\x00\x00\x00\x00\x00\x00\x00\x00"} { // a number or a text; a float
				value := reflect.New(of)
				if value.Interface().(encoding.BinaryUnmarshaler).UnmarshalBinary([]byte(one)) == nil {
					_, err := value.Interface().(encoding.BinaryMarshaler).MarshalBinary()
					written = written || err == nil
				}
			}
			if !written {
				t.Errorf("%s cannot be kept", of)
			}
			return
		}
		switch of.Kind() {
		case reflect.Map:
			walk(of.Key())
			walk(of.Elem())
		case reflect.Slice, reflect.Array, reflect.Pointer:
			walk(of.Elem())
		case reflect.Struct:
			for i := range of.NumField() {
				if of.Field(i).IsExported() {
					walk(of.Field(i).Type)
				}
			}
		}
	}
	walk(reflect.TypeFor[roster]())
	if found < 5 {
		t.Errorf("%d types of optional values", found)
	}
}
