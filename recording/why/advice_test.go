package why

import (
	"strings"
	"testing"
	"time"

	"vramscope/guard/advice"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// The result of a replay replaces the estimate, even if no setting helps in the replay.
func TestReplayTakesTheRulesPlace(t *testing.T) {
	replayed := func(other advice.Replay) []advice.Replay {
		other.Settings = "expandable_segments:True"
		return []advice.Replay{{Reserved: 98 * gib, Fails: true}, other}
	}
	s := (&story{from: time.Hour, own: func(float64) (reserved, allocated quantity.Bytes) { return 78 * gib, 30 * gib }}).asked(20 * gib)
	for name, c := range map[string]struct {
		replayed []advice.Replay
		want     string
	}{
		"the rule":            {nil, "48.0G  PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: the 48.0G that is free between its blocks becomes usable. Price"},
		"replayed, it fitted": {replayed(advice.Replay{Reserved: 55 * gib}), "43.0G  PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: it would have fitted: replayed, 55.0G is reserved at most in place of 98.0G. Price"},
		"replayed in vain":    {replayed(advice.Replay{Reserved: 78 * gib, Fails: true}), ""},
	} {
		e := Gather(s, &snapshot.Event{Time: failedAt, Kind: snapshot.EventOutOfMemory, GPUUUID: "GPU-1", Row: id(100), OutOfMemory: s.failure})
		e.Replayed = c.replayed
		v, got := Judge(e), ""
		for i := range v.Advice {
			got += v.Advice[i].Words()
		}
		if !strings.HasPrefix(got, c.want) || c.want == "" && (got != "" || v.None == "") {
			t.Errorf("%s: %q, %q", name, got, v.None)
		}
	}
}

// Memory that a process keeps does not count as taken and freed by a step.
func TestCheckpointingFreesWhatAStepTakes(t *testing.T) {
	for name, c := range map[string]struct {
		allocated []quantity.Bytes
		want      quantity.Bytes
	}{
		"steady growth":            {[]quantity.Bytes{0, 10 * gib, 20 * gib, 50 * gib}, 0},
		"a model, then steps":      {[]quantity.Bytes{0, 20 * gib, 30 * gib, 20 * gib, 29 * gib, 21 * gib}, 10 * gib},
		"steps, then a large step": {[]quantity.Bytes{5 * gib, 9 * gib, 5 * gib, 60 * gib}, 4 * gib},
	} {
		e := &Evidence{Steps: quantity.From(int64(100), quantity.Probe)}
		for i, v := range c.allocated {
			e.Recent = append(e.Recent, Sample{Time: failedAt.Add(time.Duration(i) * time.Second), Allocated: computed(v)})
		}
		if got := toothOf(e); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
