package cli

import (
	"cmp"
	"fmt"
	"strings"

	"vramscope/cli/config"
	"vramscope/headroom"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// writeHeadroom writes the answer and returns its exit code as an error.
func (p *program) writeHeadroom(r *headroom.Report, w *waiting, format string, s *config.Settings) error {
	doc := headroomDocument(r)
	if w.limit > 0 {
		limit, waited := w.limit.Seconds(), w.waited().Seconds()
		doc.Headroom.WaitSeconds, doc.Headroom.WaitedSeconds = &limit, &waited
	}
	if err := p.printAs(format, doc, headroomText(r, p.glyphs(s), p.outputWidth())); err != nil {
		return err
	}
	switch r.Answer {
	case headroom.Yes:
		return nil
	case headroom.AfterFlush:
		return &silent{exitAfterFlush}
	case headroom.No:
		return &silent{exitNoRoom}
	default:
		return &failure{code: exitFailure, message: "no GPU could be judged"}
	}
}

// headroomText is the answer in a line, and a line for each place:
//
//	yes: 20.0G for 10m fits on GPU 0, 6; after a flush on GPU 4
//
//	GPU   FREE  FLUSH    LOW  LOW_80%      FITS   WHY
//	  0  40.4G  5.51G  35.1G  30.2G–38.0G  yes
func headroomText(r *headroom.Report, signs glyphs, width int) string {
	g := grid{columns: []column{{"GPU", true, 3}, {"FREE", true, 5}, {"FLUSH", true, 5}}}
	predicted := r.Question.Length > 0
	if predicted {
		g.columns = append(g.columns, column{"LOW", true, 5}, column{"LOW_80%", false, 11})
	}
	g.columns = append(g.columns, column{"FITS", false, 5}, column{"WHY", false, 0})
	for i := range r.Places {
		h := &r.Places[i]
		row := []string{h.Label, signs.bytes(h.Free), signs.bytes(h.Returnable)}
		if predicted {
			low, interval := signs.dash, signs.dash
			if h.Low != nil {
				shown := h.Low.Shown()
				low, interval = shown.Median.String(), shown.Lower.String()+signs.enDash+shown.Upper.String()
			}
			row = append(row, low, interval)
		}
		word := map[headroom.Verdict]string{headroom.Yes: "yes", headroom.AfterFlush: "flush", headroom.No: "no", headroom.Unknown: signs.dash}[h.Verdict]
		g.rows = append(g.rows, append(row, word, headroomWhy(h)))
	}
	var lines []string
	if r.Snapshot.Simulated {
		lines = append(lines, "SIMULATED")
	}
	lines = append(lines, headroomSentence(r))
	if len(g.rows) > 0 {
		lines = append(append(lines, ""), g.lines()...)
	}
	return cutLines(lines, width, signs.ellipsis)
}

func headroomSentence(r *headroom.Report) string {
	what := r.Question.Need.String()
	if r.Question.Count > 1 {
		what = fmt.Sprintf("%d times %s", r.Question.Count, what)
	}
	if r.Question.Length > 0 {
		what += " for " + quantity.BriefDuration(r.Question.Length)
	}
	list := func(v headroom.Verdict) string { return "GPU " + strings.Join(r.On(v), ", ") }
	now, after := r.On(headroom.Yes), r.On(headroom.AfterFlush)
	switch {
	case r.Answer == headroom.Yes:
		return "yes: " + what + " fits on " + list(headroom.Yes)
	case r.Answer == headroom.AfterFlush && len(now) == 0:
		return "after a flush: " + what + " fits on " + list(headroom.AfterFlush)
	case r.Answer == headroom.AfterFlush:
		return "after a flush: " + what + " fits on " + list(headroom.Yes) + ", and then on " + list(headroom.AfterFlush)
	case r.Answer == headroom.Unknown:
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

func headroomWhy(h *headroom.Place) string {
	switch {
	case h.GPU.State != snapshot.GPUOK:
		return (&table{}).unwell(h.GPU)
	case h.Reason != "":
		return h.Reason
	case h.Verdict == headroom.Yes:
		return ""
	case h.Verdict == headroom.AfterFlush:
		return "flush " + flushList(h)
	}
	s := h.Short.String() + " short"
	if len(h.Flushable) > 0 {
		s += ", also after a flush of " + flushList(h)
	}
	return s
}

// flushList names the processes to flush, the largest first, as many as it takes.
func flushList(h *headroom.Place) string {
	const most = 3
	s := ""
	missing := h.Short
	for i := range h.Flushable {
		f := &h.Flushable[i]
		if i == most {
			return s + fmt.Sprintf(" and %d more", len(h.Flushable)-i)
		}
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%d (%s, %s", f.Process.ID.Process.PID, cmp.Or(text.Clean(f.Process.User), "?"), f.Process.ReturnableBound().Amount(f.Returns))
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

func headroomDocument(r *headroom.Report) schema.HeadroomDocument {
	q := &r.Question
	doc := schema.HeadroomDocument{
		Schema: schema.Version, Time: schema.Time(r.Snapshot.Time), Host: r.Snapshot.Host.Name, Simulated: r.Snapshot.Simulated,
		Headroom: schema.Headroom{NeedBytes: q.Need, Count: q.Count, Answer: string(r.Answer), Places: []schema.Place{}},
	}
	if q.Length > 0 {
		length, watched := q.Length.Seconds(), q.Watched.Seconds()
		doc.Headroom.ForSeconds, doc.Headroom.WatchedSeconds = &length, &watched
	}
	for i := range r.Places {
		doc.Headroom.Places = append(doc.Headroom.Places, placeOf(&r.Places[i]))
	}
	return doc
}

func placeOf(h *headroom.Place) schema.Place {
	out := schema.Place{
		GPU: h.GPU.Index, UUID: h.UUID(), Name: schema.Text(h.GPU.Name), State: string(h.GPU.State), Verdict: string(h.Verdict), Reason: schema.Text(headroomWhy(h)),
		FreeBytes: h.Free, ReturnableBytes: h.Returnable, ReturnableIsExact: h.Exact, StayingBytes: h.Staying,
		FullIn: schema.FullInOf(h.FullIn()), Flushable: []schema.Flushable{},
	}
	if h.Instance != nil {
		out.GPUInstance, out.ComputeInstance = &h.Instance.ID.GPU, &h.Instance.ID.Compute
		out.Profile = schema.Text(h.Instance.Profile)
	}
	if h.Verdict != headroom.Unknown {
		out.ShortBytes = quantity.From(h.Short, quantity.Computed)
	}
	if h.Low != nil {
		low := h.Low.Shown()
		out.LowPoint = &schema.LowPoint{MedianBytes: low.Median, Lower80Bytes: low.Lower, Upper80Bytes: low.Upper}
	}
	for i := range h.Flushable {
		f := &h.Flushable[i]
		out.Flushable = append(out.Flushable, schema.Flushable{
			PID: f.Process.ID.Process.PID, StartTime: schema.Time(f.Process.Started), User: schema.Text(f.Process.User), Name: schema.Text(f.Process.Name),
			ReturnableBytes: f.Returns, StayingBytes: f.Stays, EvictableBytes: f.Claimed,
		})
	}
	return out
}
