package store

import "sort"

// timeline is the times of moments, numbered from 0; the oldest may be forgotten. A
// copy is an immutable view: the writer only writes behind its end.
type timeline struct {
	blocks []*timeBlock
	base   int64 // ordinal of the first entry of blocks[0]
	end    int64 // ordinals before it are there
}

const timeBlockSize = 128

type timeBlock [timeBlockSize]int64 // ns, rising

func (l *timeline) empty() bool { return len(l.blocks) == 0 }

// first is the ordinal of the oldest moment.
func (l *timeline) first() int64 { return l.base }

// at gives the time of an ordinal in [first, end).
func (l *timeline) at(ordinal int64) int64 {
	i := ordinal - l.base
	return l.blocks[i/timeBlockSize][i%timeBlockSize]
}

// last is the newest time.
func (l *timeline) last() int64 { return l.at(l.end - 1) }

// after finds the first ordinal whose time is later than t; end when there is none.
func (l *timeline) after(t int64) int64 {
	block := sort.Search(len(l.blocks), func(i int) bool { return l.blocks[i][0] > t })
	if block == 0 {
		return l.base
	}
	begin := l.base + int64(block-1)*timeBlockSize
	n := int(min(l.end-begin, timeBlockSize))
	times := l.blocks[block-1]
	return begin + int64(sort.Search(n, func(i int) bool { return times[i] > t }))
}

// append adds a moment, later than all before.
func (l *timeline) append(t int64) {
	i := l.end - l.base
	if i == int64(len(l.blocks))*timeBlockSize {
		l.blocks = append(l.blocks, new(timeBlock))
	}
	l.blocks[i/timeBlockSize][i%timeBlockSize] = t
	l.end++
}

// forget drops whole blocks of moments before an ordinal.
func (l *timeline) forget(before int64) {
	for len(l.blocks) > 1 && l.base+timeBlockSize <= before {
		l.blocks = l.blocks[1:]
		l.base += timeBlockSize
	}
}
