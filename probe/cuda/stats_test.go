package cuda

import (
	"testing"

	"vramscope/internal/quantity"
)

func TestPoolFragmentedAfterFlush(t *testing.T) {
	residue := func(b quantity.Bytes) quantity.Optional[quantity.Bytes] { return quantity.From(b, quantity.Computed) }
	for _, tc := range []struct {
		name       string
		poolStats  poolStats
		cached     quantity.Bytes
		fragmented quantity.Optional[quantity.Bytes]
	}{
		{"never flushed", poolStats{reserved: 100, used: 60}, 40, quantity.Unknown[quantity.Bytes]()},
		{"just flushed", poolStats{reserved: 70, used: 60, residue: residue(10)}, 0, residue(10)},
		{"nothing fragmented", poolStats{reserved: 60, used: 60, residue: residue(0)}, 0, residue(0)},
		{"grown and freed since", poolStats{reserved: 100, used: 60, residue: residue(10)}, 30, residue(10)},
		{"residue partly used again", poolStats{reserved: 70, used: 66, residue: residue(10)}, 0, residue(4)},
		{"read while the program freed", poolStats{reserved: 50, used: 60}, 0, quantity.Unknown[quantity.Bytes]()},
	} {
		if got := tc.poolStats.cached(); got != tc.cached {
			t.Errorf("%s: cached %d, want %d", tc.name, got, tc.cached)
		}
		if got := tc.poolStats.fragmented(); got != tc.fragmented {
			t.Errorf("%s: fragmented %v, want %v", tc.name, got, tc.fragmented)
		}
		a := tc.poolStats.report(5)
		sum := *a.AllocatedBytes + *a.CachedBytes
		if a.FragmentedBytes != nil {
			sum += *a.FragmentedBytes
		}
		if sum != *a.ReservedBytes || (a.FragmentedBytes == nil) == tc.fragmented.Known() {
			t.Errorf("%s: reported as allocated %d, cached %d, fragmented %v of %d",
				tc.name, *a.AllocatedBytes, *a.CachedBytes, a.FragmentedBytes, *a.ReservedBytes)
		}
	}
}

func TestPeaksReportedWhereKnown(t *testing.T) {
	a := poolStats{reserved: 70, used: 60, peakReserved: 90, peakUsed: 85}.report(5)
	if a.PeakReservedBytes == nil || *a.PeakReservedBytes != 90 || a.PeakAllocatedBytes == nil || *a.PeakAllocatedBytes != 85 {
		t.Errorf("reported as %v, %v", a.PeakReservedBytes, a.PeakAllocatedBytes)
	}
	// A CUDA graph's memory has no peaks.
	if a := (poolStats{reserved: 70, used: 60}).report(0); a.PeakReservedBytes != nil || a.PeakAllocatedBytes != nil {
		t.Errorf("invented as %v, %v", a.PeakReservedBytes, a.PeakAllocatedBytes)
	}
}
