package why

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// earlier is a story whose process has other as its other memory, unknown if 0.
type earlier struct {
	*story
	other quantity.Bytes
}

func (e earlier) At(t time.Time) (*snapshot.Snapshot, bool) {
	snap, ok := e.story.At(t)
	if ok {
		if p := snap.Row(id(100)); p != nil {
			p.Other = snapshot.Bytes{}
			if e.other > 0 {
				p.Other = computed(e.other)
			}
		}
	}
	return snap, ok
}

// TestNoSumExceedsTheDevice: used memory at the failure is either a sum of figures of one moment, or
// marked as a minimum.
func TestNoSumExceedsTheDevice(t *testing.T) {
	for name, other := range map[string]quantity.Bytes{"never known": 0, "of a recording that paired two moments": 30 * gib, "known": context} {
		h := (&story{from: time.Minute, own: full(func(s float64) quantity.Bytes { return 70*gib - quantity.Bytes(s)*gib })}).asked(20 * gib)
		e := Gather(earlier{h, other}, &snapshot.Event{Time: failedAt, Kind: snapshot.EventOutOfMemory, GPUUUID: "GPU-1", Row: id(100), OutOfMemory: h.failure})
		v := Judge(e)
		used, known := e.Used.Value()
		if in := capacity - h.failure.Free.Or(0); !known || used > in || used < in-context {
			t.Errorf("%s: it used %v of %v in use", name, e.Used, in)
		}
		if e.UsedLeast != (other != context) {
			t.Errorf("%s: at least: %v", name, e.UsedLeast)
		}
		reasons := strings.Join(v.Reasons, " ")
		if v.Cause != OwnGrowth || strings.Contains(reasons, "used at least 70.0G and asked for 20.0G more: at least 90.0G of 80.0G") != e.UsedLeast {
			t.Errorf("%s: %s: %s", name, v.Cause, reasons)
		}
	}
}

// TestFiguresOfTwoMomentsHaveTheirTimes: a neighbour has freed memory since its last sample.
func TestFiguresOfTwoMomentsHaveTheirTimes(t *testing.T) {
	h := &story{from: time.Hour, own: full(jump(10*gib, 50*gib, .5)), neighbours: neighbours(jump(60*gib, 25*gib, .5))}
	h.asked(10 * gib)
	for _, sampled := range []bool{true, false} {
		e := Gather(h, &snapshot.Event{Time: failedAt, Kind: snapshot.EventOutOfMemory, GPUUUID: "GPU-1", Row: id(100), OutOfMemory: h.failure})
		if sampled { // the neighbour's last sample is half a second older
			e.Neighbours[0].Process.Used = computed(60 * gib)
		}
		v := Judge(e)
		var page strings.Builder
		for _, line := range Page(e, &v, 200) {
			page.WriteString(line.Text + "\n")
		}
		if strings.Contains(page.String(), "The other processes' figures are of 03:11:59, before the error") != sampled {
			t.Errorf("sampled before: %v\n%s", sampled, page.String())
		}
		if strings.Contains(page.String(), "unchanged since") != sampled {
			t.Errorf("sampled before: %v\n%s", sampled, page.String())
		}
	}
}
