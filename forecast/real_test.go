package forecast

import (
	"bufio"
	"compress/gzip"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// realTraces reads the shared recordings: by series, one sample every 57 s.
func realTraces(t *testing.T) map[string][]float64 {
	t.Helper()
	dir := os.Getenv("VRAMSCOPE_TRACES")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "data")
	}
	file, err := os.Open(filepath.Join(dir, "alibaba_gentd26.csv.gz"))
	if err != nil {
		t.Skipf("no real traces here; VRAMSCOPE_TRACES names their directory: %v", err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	traces := make(map[string][]float64)
	lines := bufio.NewScanner(unpacked)
	lines.Scan() // the header
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ",")
		if len(fields) != 4 {
			t.Fatalf("a row of %d fields: %q", len(fields), lines.Text())
		}
		used, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		traces[fields[1]] = append(traces[fields[1]], float64(used))
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return traces
}

// On real memory "it stays as it is" is nearly unbeatable; what must not
// happen is that the forecaster makes it worse.
func TestRealMemoryIsForecastNoWorseThanNaive(t *testing.T) {
	const interval = 57
	var ratios, within80, within95, scoredAt [len(Horizons)]float64
	leaks := 0
	for _, y := range realTraces(t) {
		s := scored(y, interval)
		for k, n := range s.scored {
			if n > 0 {
				ratios[k] += math.Log(s.relative(k))
				within80[k] += s.within80[k]
				within95[k] += s.within95[k]
				scoredAt[k]++
			}
		}
		if s.trends[Leak] > 0 {
			leaks++
		}
	}
	for k, n := range scoredAt {
		if n == 0 {
			continue
		}
		ratio := math.Exp(ratios[k] / n)
		t.Logf("%v: relative error %.3f, within 80 %%: %.3f, within 95 %%: %.3f", Horizons[k], ratio, within80[k]/n, within95[k]/n)
		if ratio > 1.02 {
			t.Errorf("%v: relative error %.3f, naive has 1", Horizons[k], ratio)
		}
	}
	t.Logf("%d of 133 series were ever called a leak", leaks)
}
