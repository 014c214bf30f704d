package nvml

import (
	"testing"
)

func TestCUDAVersion(t *testing.T) {
	for number, want := range map[int]string{12040: "12.4", 11080: "11.8", 13000: "13.0", 12090: "12.9", 0: "", -1: "", 1 << 40: ""} {
		if got := cudaVersion(number); got != want {
			t.Errorf("%d: %q, want %q", number, got, want)
		}
	}
}

func TestPCIBusID(t *testing.T) {
	if got := pciBusID("0000000F:01:00.0", 15, 1, 0); got != "0000000F:01:00.0" {
		t.Error(got)
	}
	if got := pciBusID("", 0, 0x3b, 0); got != "00000000:3B:00.0" {
		t.Error(got)
	}
}

func TestProfile(t *testing.T) {
	tests := []struct {
		name   string
		slices int
		mib    uint64
		want   string
	}{
		{"NVIDIA H100 80GB HBM3 MIG 3g.40gb", 3, 40448, "3g.40gb"},
		{"NVIDIA A100-SXM4-40GB MIG 1g.5gb+me", 1, 4864, "1g.5gb+me"},
		{"NVIDIA H100 80GB HBM3", 1, 9984, "1g.10gb"},
		{"NVIDIA H100 80GB HBM3", 0, 9984, ""},
		{"", 1, 1 << 40, ""},
	}
	for _, test := range tests {
		if got := profile(test.name, test.slices, test.mib); got != test.want {
			t.Errorf("%q, %d slices, %d MiB: %q, want %q", test.name, test.slices, test.mib, got, test.want)
		}
	}
}

func TestMarksAreNoFigures(t *testing.T) {
	if watts(^uint32(0)).Known() || intFigure(^uint32(0), highestClock).Known() || count(valueNotAvailable).Known() {
		t.Error("a not-available mark was taken for a figure")
	}
	if got := watts(512_345); got.Or(0) != 512.345 {
		t.Errorf("512345 mW are %v W", got.Or(0))
	}
}

func TestSymbolsAreAllNamed(t *testing.T) {
	seen := make(map[string]bool)
	for i, entry := range symbols {
		if entry.name == "" || entry.words == "" || seen[entry.name] {
			t.Errorf("entry %d: %q %q", i, entry.name, entry.words)
		}
		seen[entry.name] = true
	}
	none := make(symbolSet, len(symbols))
	if none.missing() != "nvmlInit_v2" {
		t.Errorf("a library without any call lacks %q", none.missing())
	}
	for i := range none {
		none[i] = true
	}
	if none.missing() != "" {
		t.Errorf("a library with all calls lacks %q", none.missing())
	}
}
