package quantity

import (
	"math/big"
	"strings"
	"testing"
)

// FuzzParseBytes compares with exact arithmetic. A float64 holds 53 bits, so that a
// fraction may differ in the last ones.
func FuzzParseBytes(f *testing.F) {
	for _, text := range []string{"4GiB", "4G", "1.5g", "512MiB", "4GB", "9223372036854775807", "9223372036854775808", "8388608T", "-0", "-1", "+5 kb", "1e9", "0x1p5", "1_0", "inf", "nan", ".5k", "5.", "", "G", " 1", "1b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseBytes(text)
		number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
		exact, ok := new(big.Rat).SetString(number)
		if err != nil || len(text) > 100 {
			return
		}
		if !ok || strings.ContainsAny(number, "eEpPxX_/") {
			t.Fatalf("%q is %d", text, got)
		}
		powers := map[string][2]int64{"": {1, 0}, "b": {1, 0}}
		for i, letter := range []string{"k", "m", "g", "t", "p"} {
			powers[letter], powers[letter+"ib"], powers[letter+"b"] = [2]int64{1024, int64(i + 1)}, [2]int64{1024, int64(i + 1)}, [2]int64{1000, int64(i + 1)}
		}
		unit, known := powers[strings.ToLower(strings.TrimSpace(text[len(number):]))]
		if !known {
			t.Fatalf("%q is %d", text, got)
		}
		exact.Mul(exact, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(unit[0]), big.NewInt(unit[1]), nil)))
		want := new(big.Int).Quo(exact.Num(), exact.Denom())
		off := new(big.Int).Sub(want, big.NewInt(int64(got)))
		if got < 0 || off.Abs(off).Cmp(big.NewInt(1+int64(got)>>50)) > 0 {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	})
}

// FuzzOptionalBinary: what is read is written again as it was, in every type of a
// snapshot.
func FuzzOptionalBinary(f *testing.F) {
	for _, data := range []string{"", "\x01", "\x01\x00", "\x02\x80\x01", "\x03\x80\x00", "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x04\x00\x00\x00\x00\x00\x00\xf8\x7f", "\xff\x01", "\x00\x01"} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		roundTrip[Bytes](t, data)
		roundTrip[uint32](t, data)
		roundTrip[int64](t, data)
		roundTrip[float64](t, data)
		roundTrip[bool](t, data)
		roundTrip[string](t, data)
	})
}

func roundTrip[T any](t *testing.T, data []byte) {
	t.Helper()
	var o, again Optional[T]
	if err := o.UnmarshalBinary(data); err != nil {
		if o.Known() {
			t.Errorf("%x: %v although %v", data, o, err)
		}
		return
	}
	written, err := o.MarshalBinary()
	if err != nil || len(written) > len(data) {
		t.Fatalf("%x: written as %x, %v", data, written, err)
	}
	if err := again.UnmarshalBinary(written); err != nil || again.Source() != o.Source() || again.Known() != (len(data) > 0) {
		t.Errorf("%x: %v, then %v, %v", data, o, again, err)
	}
	if second, err := again.MarshalBinary(); err != nil || string(second) != string(written) {
		t.Errorf("%x: written as %x, then %x", data, written, second)
	}
}
