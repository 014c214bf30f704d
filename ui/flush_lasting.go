package ui

import (
	"strconv"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// watchedLeast is for how long a process must have been seen before anything
// is said of what it will need.
const watchedLeast = 20 * time.Second

// stay is how much of what a flush returns would stay away.
type stay struct {
	most  quantity.Bytes // because the process has not needed it lately
	least quantity.Bytes // if it comes to need what it ever did
	needs quantity.Bytes // what its peak of the last minutes needs again
	ever  quantity.Bytes // its highest peak, as its allocator tells; 0 where it does not
	seen  time.Duration  // how much of these minutes is known
	known bool
}

// lasting is how much of what a flush returns would stay away: what is cached,
// less what the peak of the last minutes needs again. A peak between two looks
// is not seen, but the allocator knows that there was one.
func lasting(history snapshot.History, now time.Time, p *snapshot.Process) stay {
	allocated, told := p.Allocated.Value()
	peak, seen, ok := allocatedPeak(history, now, p.ID)
	s := stay{seen: seen, known: ok && told && seen >= watchedLeast}
	if !s.known {
		return s
	}
	left := func(needs quantity.Bytes) quantity.Bytes {
		return min(max(p.Cached.Or(0)-needs, 0), returnableOf(p))
	}
	s.needs = max(peak-allocated, 0)
	s.most = left(s.needs)
	s.least = s.most
	if len(p.Allocators) == 1 { // peaks of several allocators are of several moments
		if s.ever = p.Allocators[0].PeakAllocated.Or(0); s.ever > peak {
			s.least = left(s.ever - allocated)
		}
	}
	return s
}

// lasts is how much of what comes back will stay away. A sawtooth takes its
// cache again in seconds: then a flush is for show.
func (d flushDialog) lasts(t *flushTarget) cell.Span {
	s := &d.look.Styles
	l := lasting(d.history, time.Time(d.now), &t.row)
	peak := ": its peak in the last " + minutes(l.seen) + " needs " + l.needs.String() + " again"
	switch {
	case !l.known:
		return cell.Span{s.Dim, "not known: it has not been watched for long enough"}
	case l.most <= 0:
		return cell.Span{s.Warning, "none of it" + peak}
	case l.least < l.most:
		return cell.Span{s.Text, "at most " + l.atMost(d.returns(t)) + " of it: its highest peak ever was " + l.ever.String()}
	case l.needs <= 0:
		return cell.Span{s.Text, "all of it, if it goes on as in the last " + minutes(l.seen)}
	default:
		return cell.Span{s.Text, "about " + about(l.most) + " of it" + peak}
	}
}

// atMost is most for an estimate, never more than what is returned.
func (s stay) atMost(returned quantity.Bytes) string {
	if s.most >= returned {
		return s.most.String()
	}
	return about(s.most)
}

// minutes is a time as a person says it: "10 min".
func minutes(d time.Duration) string {
	if d < time.Minute {
		return strconv.Itoa(int(d/time.Second)) + " s"
	}
	return strconv.Itoa(int(d/time.Minute)) + " min"
}
