package memoryviz

import (
	"compress/gzip"
	"encoding/binary"
	"io"
	"strings"
	"time"
)

// Profile writes the live memory and the allocations of the history as a heap profile of pprof. It
// does not use pprof's own package, which would add .4 ms to every start of the program.
// Source: https://github.com/google/pprof/blob/main/proto/profile.proto
func (s *Snapshot) Profile(out io.Writer, taken time.Time) error {
	var p message
	texts, table := map[string]uint64{"": 0}, []string{""}
	text := func(t string) uint64 {
		if _, is := texts[t]; !is {
			texts[t] = uint64(len(table))
			table = append(table, t)
		}
		return texts[t]
	}
	for _, kind := range [][2]string{{"inuse_objects", "count"}, {"inuse_space", "bytes"}, {"alloc_objects", "count"}, {"alloc_space", "bytes"}} {
		p.part(1, message{}.number(1, text(kind[0])).number(2, text(kind[1])))
	}
	places := map[Frame]uint64{}
	location := func(f Frame) uint64 {
		id, is := places[f]
		if !is {
			id = uint64(len(places) + 1)
			places[f] = id
			// pprof takes <module> for a C++ template argument.
			p.part(5, message{}.number(1, id).number(2, text(strings.Trim(f.Function, "<>"))).number(4, text(string(f.File))))
			var place message
			place.part(4, message{}.number(1, id).number(2, uint64(f.Line.Or(0))))
			p.part(4, place.number(1, id))
		}
		return id
	}
	var stacks []*Stack
	samples := map[*Stack]*[4]uint64{}
	for at, blocks := range [][]Block{s.Blocks, s.Allocated} {
		for _, b := range blocks {
			if samples[b.Stack] == nil {
				samples[b.Stack] = new([4]uint64)
				stacks = append(stacks, b.Stack)
			}
			samples[b.Stack][2*at]++
			samples[b.Stack][2*at+1] += uint64(b.Size)
		}
	}
	for _, stack := range stacks {
		var sample message
		for _, f := range stack.Frames {
			sample = sample.number(1, location(f))
		}
		for _, value := range samples[stack] {
			sample = sample.number(2, value)
		}
		p.part(2, sample)
	}
	p = p.number(9, uint64(taken.UnixNano())).number(10, uint64(s.Span)).number(14, text("inuse_space"))
	for _, t := range table {
		p.part(6, message(t))
	}
	zipped := gzip.NewWriter(out)
	if _, err := zipped.Write(p); err != nil {
		return err
	}
	return zipped.Close()
}

// message is an encoded protobuf message.
type message []byte

func (m message) number(field, value uint64) message {
	return binary.AppendUvarint(binary.AppendUvarint(m, field<<3), value)
}

func (m *message) part(field uint64, part message) {
	*m = append(binary.AppendUvarint(binary.AppendUvarint(*m, field<<3|2), uint64(len(part))), part...)
}
