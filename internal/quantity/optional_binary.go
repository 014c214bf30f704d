package quantity

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
)

var errBinary = errors.New("quantity: not the binary form of an optional value")

// MarshalBinary encodes source and value, where JSON has the value alone. The
// value is a number, a boolean or a text.
func (o Optional[T]) MarshalBinary() ([]byte, error) {
	if o.source == Nowhere {
		return nil, nil
	}
	b := []byte{byte(o.source)}
	switch v := reflect.ValueOf(o.value); {
	case v.Kind() == reflect.Bool && v.Bool():
		return append(b, 1), nil
	case v.Kind() == reflect.Bool:
		return append(b, 0), nil
	case v.CanInt():
		return binary.AppendVarint(b, v.Int()), nil
	case v.CanUint():
		return binary.AppendUvarint(b, v.Uint()), nil
	case v.CanFloat():
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v.Float())), nil
	case v.Kind() == reflect.String:
		return append(b, v.String()...), nil
	default:
		return nil, fmt.Errorf("quantity: no binary form of a %T", o.value)
	}
}

// UnmarshalBinary decodes what MarshalBinary has encoded for the same type.
func (o *Optional[T]) UnmarshalBinary(b []byte) error {
	*o = Optional[T]{}
	if len(b) == 0 {
		return nil
	}
	var value T
	v := reflect.ValueOf(&value).Elem()
	source, b := Source(b[0]), b[1:]
	whole := false
	switch {
	case v.Kind() == reflect.Bool:
		if whole = len(b) == 1 && b[0] < 2; whole {
			v.SetBool(b[0] == 1)
		}
	case v.CanInt():
		number, n := binary.Varint(b)
		if whole = n > 0 && n == len(b) && !v.OverflowInt(number); whole {
			v.SetInt(number)
		}
	case v.CanUint():
		number, n := binary.Uvarint(b)
		if whole = n > 0 && n == len(b) && !v.OverflowUint(number); whole {
			v.SetUint(number)
		}
	case v.CanFloat():
		if whole = len(b) == 8; whole {
			v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
	case v.Kind() == reflect.String:
		whole = true
		v.SetString(string(b))
	}
	if !whole || source == Nowhere || source > Forecast {
		return errBinary
	}
	*o = From(value, source)
	return nil
}
