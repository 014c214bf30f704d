package quantity

import (
	"encoding/json"
	"math"
	"testing"
	"unicode/utf8"
)

func TestBytesTakeFiveCells(t *testing.T) {
	for _, tc := range []struct {
		in   Bytes
		want string
	}{
		{0, "0"}, {512 * KiB, "512K"}, {842 * MiB, "842M"}, {18 * MiB, "18M"},
		{GiB, "1.00G"}, {1010 * MiB, "0.99G"}, {2480343613, "2.31G"},
		{10 * GiB, "10.0G"}, {140 * GiB, "140G"}, {1010 * GiB, "0.99T"},
		{TiB + 180*GiB, "1.18T"}, {-96 * MiB, "-96M"}, {-1536 * MiB, "-1.5G"},
		{300, "300B"}, {-300, "-0.1K"},
	} {
		if got := tc.in.String(); got != tc.want {
			t.Errorf("Bytes(%d) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

func FuzzBytesNeverWiderThanFiveCells(f *testing.F) {
	for _, v := range []int64{0, 1, 999, 1023, 1 << 20, 999<<30 + 1<<29, -1, math.MaxInt64, math.MinInt64} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v int64) {
		if s := Bytes(v).String(); utf8.RuneCountInString(s) > 5 || s == "" {
			t.Errorf("Bytes(%d) = %q", v, s)
		}
	})
}

func TestUnknownIsNullAndNeverZero(t *testing.T) {
	out, err := json.Marshal(struct{ A, B Optional[Bytes] }{B: From(Bytes(0), Driver)})
	if err != nil || string(out) != `{"A":null,"B":0}` {
		t.Fatalf("got %s, %v", out, err)
	}
	if Sum(Unknown[Bytes](), Unknown[Bytes]()).Known() {
		t.Error("a sum of unknowns is unknown")
	}
	if v, ok := Sum(From(GiB, Probe), Unknown[Bytes]()).Value(); !ok || v != GiB {
		t.Errorf("got %v, %v", v, ok)
	}
}

// TestSourcesOfAFileHaveNames: a file may contain any number as a source.
func TestSourcesOfAFileHaveNames(t *testing.T) {
	for source, want := range map[Source]string{Forecast: "forecast", Forecast + 1: "unknown", 255: "unknown"} {
		if got := source.String(); got != want {
			t.Errorf("%d is %s, want %s", source, got, want)
		}
	}
}
