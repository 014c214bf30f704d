package render

import (
	"vramscope/headroom"
	"vramscope/internal/quantity"
	"vramscope/schema"
)

// HeadroomText returns the answer in a line, and a line for each place:
//
//	yes: 20.0G for 10m fits on GPU 0, 6; after a flush on GPU 4
//
//	GPU   FREE  FLUSH    LOW  LOW_80%      FITS   WHY
//	  0  40.4G  5.51G  35.1G  30.2G–38.0G  yes
func HeadroomText(r *headroom.Report, signs Signs, width int) string {
	g := grid{columns: []column{{"GPU", true, 3}, {"FREE", true, 5}, {"FLUSH", true, 5}}}
	predicted := r.Question.Length > 0
	if predicted {
		g.columns = append(g.columns, column{"LOW", true, 5}, column{"LOW_80%", false, 11})
	}
	g.columns = append(g.columns, column{"FITS", false, 5}, column{"WHY", false, 0})
	for i := range r.Places {
		h := &r.Places[i]
		row := []string{h.Label, signs.Bytes(h.Free), signs.Bytes(h.Returnable)}
		if predicted {
			low, interval := signs.Dash, signs.Dash
			if h.Low != nil {
				shown := h.Low.Shown()
				low, interval = shown.Median.String(), shown.Lower.String()+signs.EnDash+shown.Upper.String()
			}
			row = append(row, low, interval)
		}
		word := map[headroom.Verdict]string{headroom.Yes: "yes", headroom.AfterFlush: "flush", headroom.No: "no", headroom.Unknown: signs.Dash}[h.Verdict]
		g.rows = append(g.rows, append(row, word, signs.Words(h.Why())))
	}
	lines := append(simulated(r.Snapshot.Simulated), r.Sentence())
	if len(g.rows) > 0 {
		lines = append(append(lines, ""), g.lines()...)
	}
	return cutLines(lines, width, signs.Ellipsis)
}

func HeadroomDocument(r *headroom.Report) schema.HeadroomDocument {
	q := &r.Question
	doc := schema.HeadroomDocument{
		Head:     schema.HeadOf(schema.Version, r.Snapshot),
		Headroom: schema.Headroom{NeedBytes: q.Need, Count: q.Count, Answer: string(r.Answer), Places: schema.List(r.Places, placeOf)},
	}
	if q.Length > 0 {
		doc.Headroom.ForSeconds, doc.Headroom.WatchedSeconds = new(q.Length.Seconds()), new(q.Watched.Seconds())
	}
	return doc
}

func placeOf(h *headroom.Place) schema.Place {
	out := schema.Place{
		GPU: h.GPU.Index, UUID: h.UUID(), Name: schema.Text(h.GPU.Name), State: string(h.GPU.State), Verdict: string(h.Verdict), Reason: schema.Text(h.Why()),
		FreeBytes: h.Free, ReturnableBytes: h.Returnable, ReturnableIsExact: h.Exact, StayingBytes: h.Staying,
		FullIn: schema.FullInOf(h.FullIn()), Flushable: schema.List(h.Flushable, func(f *headroom.Flushable) schema.Flushable {
			return schema.Flushable{
				PID: f.Process.ID.Process.PID, StartTime: schema.Time(f.Process.Started), User: schema.Text(f.Process.User), Name: schema.Text(f.Process.Name),
				ReturnableBytes: f.Frees, StayingBytes: f.Stays, EvictableBytes: f.Claimed,
			}
		}),
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
	return out
}
