package sources

import (
	"testing"
	"time"

	"vramscope/sampler"
	"vramscope/sampler/simulator"
)

// A past that is longer than any prelude continues in the story: advise --demo --watch 2h.
func TestSimulatedPastMayBeLong(t *testing.T) {
	src := &Set{Options: sampler.Options{Interval: time.Minute}}
	src.Simulate(simulator.Options{GPUs: 2}, 2*time.Hour, time.Now)
	sampling := sampler.New(src.Options)
	src.CatchUp(sampling, time.Minute)
	oldest, newest := sampling.History().Span()
	if past := newest.Sub(oldest); past < 118*time.Minute || len(sampling.Latest().Rows) == 0 {
		t.Errorf("%s of a past, and %d rows", past, len(sampling.Latest().Rows))
	}
}
