package gpus

import (
	"strings"
	"testing"
	"time"

	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/uitest"
)

// busyHistory has utilisation of GPU 0, rising from 0 in steps of 10 %, nothing in the
// last minute, and counts how often it is read.
type busyHistory struct {
	uitest.CurveHistory
	uuid  string
	reads int
}

func (h *busyHistory) Series(key snapshot.SeriesKey, _, to time.Time, buckets int) []snapshot.Point {
	h.reads++
	points := make([]snapshot.Point, buckets)
	for i := range points {
		points[i] = snapshot.Point{Time: to, Max: int64(10 * i), Known: i < buckets-1 && key.Metric == metric.Utilization && key.GPUUUID == h.uuid}
	}
	return points
}

func TestWideLinesHaveUtilizationSparklines(t *testing.T) {
	s := snapshottest.DrawnBox()
	history := &busyHistory{uuid: s.GPUs[0].UUID}
	p := Panel{Appearance: uitest.Appearance(t, "", false), Snapshot: s, Now: s.Time, History: history, Sparks: &Sparks{}, Halves: 1, Header: true}
	p.Lines = p.List()
	lines := p.Render(160, 9)
	if !strings.Contains(lines[0], "LAST 10m") || !strings.Contains(lines[1], "▁▁▂▃▃▄▅▅▆ ") {
		t.Errorf("%s\n%s", lines[0], lines[1])
	}
	if strings.ContainsAny(lines[2], "▁▂▃") {
		t.Errorf("nothing is known of GPU 1: %s", lines[2])
	}
	first := history.reads
	if p.Render(160, 9); history.reads != first {
		t.Errorf("read %d times for the same snapshot", history.reads)
	}
	if narrow := p.Render(159, 9); strings.Contains(narrow[0], "LAST") {
		t.Errorf("below 160 columns: %s", narrow[0])
	}
}
