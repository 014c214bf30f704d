package snapshottest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unsafe"
)

// Fill sets every field below a pointer, so that a test can see which fields an output has. It returns
// the texts by their paths, "Rows[].User"; each text is different. A list has one element. A list of
// texts has three, because in a command line the words after the first may be secret. Texts with a
// type of their own, such as GPUState, become "x" and are not returned.
func Fill(to any) map[string]string {
	f := filler{map[string]string{}}
	f.fill(reflect.ValueOf(to).Elem(), "")
	return f.texts
}

type filler struct{ texts map[string]string }

func (f *filler) fill(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
		if v.Type() == reflect.TypeFor[string]() {
			f.texts[path] = fmt.Sprintf("%dq", 1000+len(f.texts))
			v.SetString(f.texts[path])
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(1)
	case reflect.Interface: // an error
		v.Set(reflect.ValueOf(errors.New("an error")))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), path)
	case reflect.Slice:
		n := 1
		if v.Type().Elem() == reflect.TypeFor[string]() {
			n = 3
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			name := path + "[]"
			if n > 1 {
				name = fmt.Sprintf("%s[%d]", path, i)
			}
			f.fill(v.Index(i), name)
		}
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Struct:
		if now := reflect.ValueOf(Now()); now.CanConvert(v.Type()) {
			v.Set(now.Convert(v.Type()))
			return
		}
		for i := range v.NumField() {
			field, name := v.Field(i), v.Type().Field(i)
			if !name.IsExported() { // a field of an Optional
				field = reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
				f.fill(field, path)
				continue
			}
			f.fill(field, strings.TrimPrefix(path+"."+name.Name, "."))
		}
	}
}
