package quantity

import (
	"math/big"
	"strings"
	"testing"
)

// FuzzParseBytes compares the result with exact arithmetic. A float64 has 53 bits, so the last bits
// of a fraction may differ.
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
