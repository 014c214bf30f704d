package memoryviz

import (
	"io"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// Profile writes a snapshot as pprof has a heap's: what is live, and what the history allocated, by stack.
func (s *Snapshot) Profile(out io.Writer, taken time.Time) error {
	p := profile.Profile{TimeNanos: taken.UnixNano(), DurationNanos: int64(s.Span), DefaultSampleType: "inuse_space", SampleType: []*profile.ValueType{
		{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}, {Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"},
	}}
	places := map[Frame]*profile.Location{}
	location := func(f Frame) *profile.Location {
		if places[f] == nil {
			id := uint64(len(places) + 1)
			// pprof takes <module> for a template.
			function := &profile.Function{ID: id, Name: strings.Trim(f.Function, "<>"), Filename: string(f.File)}
			places[f] = &profile.Location{ID: id, Line: []profile.Line{{Function: function, Line: int64(f.Line.Or(0))}}}
			p.Function, p.Location = append(p.Function, function), append(p.Location, places[f])
		}
		return places[f]
	}
	samples := map[*Stack]*profile.Sample{}
	for at, blocks := range [][]Block{s.Blocks, s.Allocated} {
		for _, b := range blocks {
			if samples[b.Stack] == nil {
				sample := &profile.Sample{Value: make([]int64, 4)}
				for _, f := range b.Stack.Frames {
					sample.Location = append(sample.Location, location(f))
				}
				samples[b.Stack] = sample
				p.Sample = append(p.Sample, sample)
			}
			samples[b.Stack].Value[2*at]++
			samples[b.Stack].Value[2*at+1] += int64(b.Size)
		}
	}
	return p.Write(out)
}
