package cell

import (
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

func TestUnreturnable(t *testing.T) {
	for amount, want := range map[quantity.Bytes]string{
		33*gb + 100*mib: "(33G)", 614 * mib: "(.6G)", 9 * gb: "(9G)", 140 * gb: "(.1T)", 40 * mib: "(40M)",
		99*gb + 900*mib: "(.1T)", 12 * kib: "(12K)", 0: "(0K)",
	} {
		if got := string(AppendUnreturnable(nil, amount)); got != want {
			t.Errorf("%d: %s, want %s", amount, got, want)
		}
	}
	for range 100000 {
		amount := quantity.Bytes(rand.Int64() >> rand.IntN(63))
		if got := AppendUnreturnable(nil, amount); len(got) > 5 {
			t.Fatalf("%d takes %d cells: %s", amount, len(got), got)
		}
	}
}

func TestFiguresKeepTheirCells(t *testing.T) {
	check := func(what string, text []byte, limit int) {
		t.Helper()
		if cells := utf8.RuneCount(text); cells > limit || cells == 0 {
			t.Errorf("%s: %q has %d cells, at most %d", what, text, cells, limit)
		}
	}
	for range 20000 {
		amount := quantity.From(quantity.Bytes(rand.Int64()>>rand.IntN(63)), quantity.Driver)
		total := quantity.From(quantity.Bytes(rand.Int64N(int64(999*gb))), quantity.Driver)
		number := quantity.From(int(rand.Int64()>>rand.IntN(63))*(1-2*rand.IntN(2)), quantity.Driver)
		power := quantity.From(rand.NormFloat64()*1000, quantity.Driver)
		limit := quantity.From(rand.Float64()*2000, quantity.Driver)
		check("bytes", AppendBytes(nil, amount, "–"), 5)
		check("used/total", AppendUsedTotal(nil, total, total, "–"), 12)
		check("percent", AppendPercent(nil, number, "–"), 4)
		check("temperature", AppendTemperature(nil, number, "–"), 4)
		check("watts", AppendWatts(nil, power, "–"), 4)
		check("power", AppendPower(nil, power, limit, "–"), 8)
		check("clock", AppendWithin(nil, number, 0, 99999, "M", "–"), 6)
		check("count", AppendWithin(nil, number, 0, 999, "", "–"), 3)
		check("cpu", AppendPercentOf(nil, number, "–"), 4)
	}
	for what, text := range map[string][]byte{
		"bytes": AppendBytes(nil, snapshot.Bytes{}, "–"), "percent": AppendPercent(nil, snapshot.Int{}, "–"),
		"watts": AppendWatts(nil, snapshot.Float{}, "–"), "power": AppendPower(nil, snapshot.Float{}, snapshot.Float{}, "–"),
	} {
		if string(text) != "–" {
			t.Errorf("unknown %s is written %q", what, text)
		}
	}
}

// TestRounded: amounts with the same text are equal when rounded, and all others keep their order.
func TestRounded(t *testing.T) {
	if Rounded(1010017) != Rounded(1010176) { // 986.3K, and 986.5K, which is written 986K
		t.Error("half a unit is rounded otherwise than it is written")
	}
	last := quantity.Bytes(0)
	for range 200000 {
		a := quantity.Bytes(rand.Int64() >> rand.IntN(63))
		if rand.IntN(2) == 0 {
			a = last + quantity.Bytes(rand.Int64N(int64(gb/50)))
		}
		b := last
		last = a
		if same := Rounded(a) == Rounded(b); (a.String() == b.String()) != same {
			t.Fatalf("%d (%v) and %d (%v): the same when rounded: %v", a, a, b, b, same)
		}
		if a < b && Rounded(a) > Rounded(b) {
			t.Fatalf("%d < %d, but %g > %g", a, b, Rounded(a), Rounded(b))
		}
	}
}
