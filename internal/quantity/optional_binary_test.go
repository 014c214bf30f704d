package quantity

import (
	"math"
	"testing"
)

func TestBinaryFormKeepsValueAndSource(t *testing.T) {
	for _, v := range []Bytes{0, 1, -1, 80 * GiB, math.MaxInt64, math.MinInt64} {
		survives(t, From(v, Driver))
	}
	survives(t, Unknown[Bytes]())
	survives(t, From(-273, System))
	survives(t, From(uint32(math.MaxUint32), Probe))
	survives(t, From(uint64(math.MaxUint64), DriverV1))
	survives(t, From(true, Computed))
	survives(t, From(false, Driver))
	survives(t, From(612.34, Forecast))
	survives(t, From(math.Inf(-1), Driver))
}

func survives[T comparable](t *testing.T, want Optional[T]) {
	t.Helper()
	b, err := want.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	got := From(*new(T), Driver) // what stood there before goes
	if err := got.UnmarshalBinary(b); err != nil || got != want {
		t.Errorf("%v from %v became %v from %v: %v", want.value, want.source, got.value, got.source, err)
	}
	for n := 1; n < len(b); n++ {
		if err := got.UnmarshalBinary(b[:n]); err == nil {
			t.Errorf("%d bytes of %v were taken for %v", n, b, got)
		}
	}
	if len(b) > 0 && got.UnmarshalBinary(append(b, 1)) == nil {
		t.Errorf("%v and one more byte were taken for %v", b, got)
	}
}

func TestBinaryFormOfAnotherTypeIsRefused(t *testing.T) {
	b, err := From(uint64(1<<40), Driver).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	small := From(uint32(7), Driver)
	if err := small.UnmarshalBinary(b); err == nil || small.Known() {
		t.Errorf("2^40 became %v", small)
	}
	if err := small.UnmarshalBinary([]byte{byte(Forecast) + 1, 1}); err == nil {
		t.Error("a source that there is none of was taken")
	}
	if _, err := From(struct{}{}, Driver).MarshalBinary(); err == nil {
		t.Error("what has no binary form was written")
	}
}
