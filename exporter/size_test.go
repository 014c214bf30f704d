package exporter

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"vramscope/forecast"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// sixteen returns a box of 16 GPUs with 64 processes each, with different figures and all sensors. In the
// worst case it is in Kubernetes, and each GPU fills up and is slowed down.
func sixteen(worst bool) *snapshot.Snapshot {
	snap := snapshottest.Crowded(16, 64)
	for i := range snap.Rows {
		p := &snap.Rows[i]
		shift := quantity.Bytes(i*i) * 524309
		for _, b := range []*snapshot.Bytes{&p.Used, &p.Allocated, &p.Cached, &p.Fragmented, &p.Returnable} {
			*b = quantity.From(b.Or(0)+shift, quantity.Probe)
			shift = shift*7%(quantity.GiB) + 4096
		}
		if worst {
			p.Job = process.Job{Kind: "pod", ID: fmt.Sprintf("llama-70b-%07x-x2kq4", i), Namespace: "research", Container: fmt.Sprintf("3f9a2c%06x", i)}
		}
	}
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		for id := metric.FirstSensor; id < metric.Count; id++ {
			if !g.Sensors.Value(id).Known() && id != metric.Fan { // no board of 16 GPUs has fans
				g.Set(id, quantity.From(float64(1000+i*37), quantity.Driver))
			}
		}
		for h := range len(forecast.Horizons) {
			g.Predicted = append(g.Predicted, snapshot.Prediction{Horizon: time.Duration(h+1) * time.Minute, Median: g.Memory.Used.Or(0) + quantity.Bytes(h*12345678)})
		}
		if !worst {
			continue
		}
		g.FullIn = &snapshot.FullIn{Median: time.Minute, Earliest: time.Minute, Latest: time.Hour}
		g.Unattributed, g.Throttled = g.Memory.Reserved, []string{"power_cap", "hw_thermal"}
		snap.Alerts = append(snap.Alerts, snapshot.Alert{Kind: snapshot.AlertFullIn, Severity: snapshot.Urgent, GPUUUID: g.UUID, GPU: g.Index})
	}
	snap.Guard = &snapshot.Guard{Mode: snapshot.GuardAct}
	return snap
}

// TestSizeOfALargeBox: the answer for 16 GPUs with 64 processes each has at most 300 kB, in the worst case
// 330 kB, and compressed 40 kB.
func TestSizeOfALargeBox(t *testing.T) {
	for _, c := range []struct {
		worst bool
		limit int
	}{{false, 300_000}, {true, 330_000}} {
		testSize(t, exporting(sixteen(c.worst)), c.limit)
	}
}

func testSize(t *testing.T, e *Exporter, limit int) {
	t.Helper()
	plain := len(scrape(t, e))
	w := get(t, e, "/metrics", "Accept-Encoding", "gzip")
	packed := w.Body.Len()
	unpacked, err := gzip.NewReader(bytes.NewReader(w.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(unpacked); err != nil || len(text) != plain {
		t.Errorf("%d bytes unpacked, %v", len(text), err)
	}
	t.Logf("%d bytes, %d compressed", plain, packed)
	if plain > limit || packed > 40_000 {
		t.Errorf("%d bytes, %d compressed", plain, packed)
	}
}

func BenchmarkScrape(b *testing.B) {
	handler := exporting(sixteen(true)).Handler()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
	for b.Loop() {
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
}
