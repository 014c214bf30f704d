package headroom

import (
	"cmp"
	"fmt"
	"strings"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// Sentence is the answer in a line: "yes: 20.0G for 10m fits on GPU 0, 6".
func (r *Report) Sentence() string {
	what := r.Question.Need.String()
	if r.Question.Count > 1 {
		what = fmt.Sprintf("%d times %s", r.Question.Count, what)
	}
	if r.Question.Length > 0 {
		what += " for " + quantity.BriefDuration(r.Question.Length)
	}
	list := func(v Verdict) string { return "GPU " + strings.Join(r.On(v), ", ") }
	now, after := r.On(Yes), r.On(AfterFlush)
	switch {
	case r.Answer == Yes:
		return "yes: " + what + " fits on " + list(Yes)
	case r.Answer == AfterFlush && len(now) == 0:
		return "after a flush: " + what + " fits on " + list(AfterFlush)
	case r.Answer == AfterFlush:
		return "after a flush: " + what + " fits on " + list(Yes) + ", and then on " + list(AfterFlush)
	case r.Answer == Unknown:
		return "unknown: no GPU could be judged"
	case len(now) > 0 && len(after) > 0:
		return fmt.Sprintf("no: need %d, fits on %s; after a flush also on %s", r.Question.Count, strings.Join(now, ","), strings.Join(after, ","))
	case len(now) > 0:
		return fmt.Sprintf("no: need %d, fits on %s", r.Question.Count, strings.Join(now, ","))
	case len(after) > 0:
		return fmt.Sprintf("no: need %d, fits after a flush on %s", r.Question.Count, strings.Join(after, ","))
	default:
		return "no: " + what + " fits nowhere"
	}
}

// Why is the reason of the verdict, "" where it fits.
func (p *Place) Why() string {
	switch {
	case p.GPU.State != snapshot.GPUOK:
		return text.Clean(p.GPU.StateSince())
	case p.Reason != "":
		return p.Reason
	case p.Verdict == Yes:
		return ""
	case p.Verdict == AfterFlush:
		return "flush " + p.flushes()
	}
	s := p.Short.String() + " short"
	if len(p.Flushable) > 0 {
		s += ", also after a flush of " + p.flushes()
	}
	return s
}

// flushes names the processes to flush, the largest first, as many as it takes.
func (p *Place) flushes() string {
	const most = 3
	s := ""
	missing := p.Short
	for i := range p.Flushable {
		f := &p.Flushable[i]
		if i == most {
			return s + fmt.Sprintf(" and %d more", len(p.Flushable)-i)
		}
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%d (%s, %s", f.Process.ID.Process.PID, cmp.Or(text.Clean(f.Process.User), "?"), f.Process.ReturnableBound().Amount(f.Frees))
		if claimed := f.Claimed.Or(0); claimed > 0 {
			s += ", and by its word " + claimed.String() + " with --level selective"
		}
		s += ")"
		if missing -= f.Stays; missing <= 0 {
			return s
		}
	}
	return s
}
