package store

import (
	"runtime"
	"testing"
)

func TestHeadKeepsEveryValue(t *testing.T) {
	for name, values := range map[string]func(i int) (v int64, known bool){
		"equal":    func(int) (int64, bool) { return 7, true },
		"zero":     func(int) (int64, bool) { return 0, true },
		"steps":    func(i int) (int64, bool) { return int64(i / 50), true },
		"changing": func(i int) (int64, bool) { return int64(i), true },
		"gaps":     func(i int) (int64, bool) { return int64(i / 10), i%3 == 0 },
		"one":      func(i int) (int64, bool) { return 9, i == 100 },
		"late":     func(i int) (int64, bool) { return int64(i % 2), i > 63 },
	} {
		h := new(head)
		for i := range blockPlaces {
			if v, known := values(i); known {
				if i%5 == 0 {
					h.set(i, v+1) // replaced by the next
				}
				h.set(i, v)
			}
			for before := range blockPlaces {
				m := h.present
				v, known := values(before)
				if known = known && before <= i; m.has(before) != known || known && h.at(before) != v {
					t.Fatalf("%s: after place %d, place %d is %d, %v; want %d, %v", name, i, before, h.at(before), m.has(before), v, known)
				}
			}
		}
	}
}

// TestMemoryOfASeries limits how much of the heap a series takes after 20 minutes. A monitor has
// several series for each process.
func TestMemoryOfASeries(t *testing.T) {
	for _, tc := range []struct {
		name string
		box  func() *box
		most float64 // bytes
	}{
		{"constant", func() *box { return newBox(512, only(constant)) }, 500},
		{"steps", func() *box { return newBox(512, only(stepping)) }, 750},
		{"mixed", func() *box { return newBox(512, mixed) }, 900},
		{"noise", func() *box { return newBox(512, only(noisy)) }, 3600},
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		b := tc.box()
		b.run(1200)
		runtime.GC()
		runtime.ReadMemStats(&after)
		n := float64(len(b.series))
		heap := float64(int64(after.HeapAlloc)-int64(before.HeapAlloc)) / n
		runtime.KeepAlive(b)
		t.Logf("%s: %.0f bytes a series", tc.name, heap)
		if heap > tc.most {
			t.Errorf("%s: %.0f bytes a series, at most %.0f are allowed", tc.name, heap, tc.most)
		}
	}
}
