package cli

import (
	"fmt"
	"strings"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// writeHeadroom writes the answer, and ends in its exit code.
func (p *program) writeHeadroom(r *headroomReport, format string, s *settings) error {
	var text []byte
	if format == "json" {
		var err error
		if text, err = r.json(); err != nil {
			return err
		}
	} else {
		text = r.text(p.glyphs(s), p.outputWidth())
	}
	if err := p.print(text); err != nil {
		return err
	}
	switch r.answer {
	case fits:
		return nil
	case fitsAfter:
		return &silent{exitAfterFlush}
	case fitsNot:
		return &silent{exitNoRoom}
	default:
		return &failure{code: exitFailure, message: "no GPU could be judged"}
	}
}

// text is the answer in a line, and a line for each place:
//
//	yes: 20.0G for 10m fits on GPU 0, 6; after a flush on GPU 4
//
//	GPU   FREE  FLUSH    LOW  LOW_80%      FITS   WHY
//	  0  40.4G  5.51G  35.1G  30.2G–38.0G  yes
func (r *headroomReport) text(signs glyphs, width int) []byte {
	g := grid{columns: []column{{"GPU", true, 3}, {"FREE", true, 5}, {"FLUSH", true, 5}}}
	predicted := r.question.length > 0
	if predicted {
		g.columns = append(g.columns, column{"LOW", true, 5}, column{"LOW_80%", false, 11})
	}
	g.columns = append(g.columns, column{"FITS", false, 5}, column{"WHY", false, 0})
	for i := range r.places {
		h := &r.places[i]
		row := []string{h.label, signs.bytes(h.free), signs.bytes(h.returnable)}
		if predicted {
			low, interval := signs.dash, signs.dash
			if h.low != nil {
				shown := h.low.shown()
				low, interval = shown.median.String(), shown.lower.String()+signs.enDash+shown.upper.String()
			}
			row = append(row, low, interval)
		}
		word := map[fit]string{fits: "yes", fitsAfter: "flush", fitsNot: "no", fitUnknown: signs.dash}[h.verdict]
		g.rows = append(g.rows, append(row, word, h.why()))
	}
	var b strings.Builder
	if r.snap.Simulated {
		b.WriteString("SIMULATED\n")
	}
	b.WriteString(cutLine(r.sentence(), width, signs.ellipsis) + "\n")
	if len(g.rows) > 0 {
		b.WriteByte('\n')
		for _, line := range g.lines(width, signs.ellipsis) {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	return []byte(b.String())
}

// shown is the low point as a figure of free memory.
func (l lowPoint) shown() lowPoint {
	return lowPoint{max(l.median, 0), max(l.lower, 0), max(l.upper, 0)}
}

// sentence is the answer in words.
func (r *headroomReport) sentence() string {
	what := r.question.need.String()
	if r.question.count > 1 {
		what = fmt.Sprintf("%d times %s", r.question.count, what)
	}
	if r.question.length > 0 {
		what += " for " + brief(r.question.length)
	}
	list := func(v fit) string { return "GPU " + strings.Join(r.on(v), ", ") }
	now, after := r.on(fits), r.on(fitsAfter)
	switch {
	case r.answer == fits:
		return "yes: " + what + " fits on " + list(fits)
	case r.answer == fitsAfter && len(now) == 0:
		return "after a flush: " + what + " fits on " + list(fitsAfter)
	case r.answer == fitsAfter:
		return "after a flush: " + what + " fits on " + list(fits) + ", and then on " + list(fitsAfter)
	case r.answer == fitUnknown:
		return "unknown: no GPU could be judged"
	case len(now) > 0 && len(after) > 0:
		return "no: " + what + " does not fit; only on " + list(fits) + ", and after a flush on " + list(fitsAfter)
	case len(now) > 0:
		return "no: " + what + " does not fit; only on " + list(fits)
	case len(after) > 0:
		return "no: " + what + " does not fit; only on " + list(fitsAfter) + ", and there after a flush"
	default:
		return "no: " + what + " fits nowhere"
	}
}

// headroomDocument is the JSON of vramscope headroom, documented in
// docs/headroom.md.
type headroomDocument struct {
	Schema    string       `json:"schema"`
	Time      timestamp    `json:"time"`
	Host      string       `json:"host"`
	Simulated bool         `json:"simulated"`
	Headroom  headroomJSON `json:"headroom"`
}

type headroomJSON struct {
	NeedBytes      quantity.Bytes `json:"need_bytes"`
	Count          int            `json:"count"`
	ForSeconds     *float64       `json:"for_seconds"`
	WatchedSeconds *float64       `json:"watched_seconds"`
	Answer         fit            `json:"answer"`
	Places         []placeJSON    `json:"places"`
}

type placeJSON struct {
	GPU             int      `json:"gpu"`
	GPUInstance     *uint32  `json:"gpu_instance"`
	ComputeInstance *uint32  `json:"compute_instance"`
	UUID            string   `json:"uuid"`
	Name            jsonText `json:"name"`
	Profile         jsonText `json:"profile"`
	State           string   `json:"state"`
	Verdict         fit      `json:"verdict"`
	Reason          jsonText `json:"reason"`

	FreeBytes         snapshot.Bytes  `json:"free_bytes"`
	ReturnableBytes   snapshot.Bytes  `json:"returnable_bytes"`
	ReturnableIsExact bool            `json:"returnable_is_exact"`
	StayingBytes      snapshot.Bytes  `json:"staying_bytes"`
	ShortBytes        snapshot.Bytes  `json:"short_bytes"`
	LowPoint          *lowJSON        `json:"low_point"`
	FullIn            *fullInJSON     `json:"full_in"`
	Flushable         []flushableJSON `json:"flushable"`
}

type lowJSON struct {
	MedianBytes  quantity.Bytes `json:"median_bytes"`
	Lower80Bytes quantity.Bytes `json:"lower80_bytes"`
	Upper80Bytes quantity.Bytes `json:"upper80_bytes"`
}

type flushableJSON struct {
	PID             int            `json:"pid"`
	StartTime       timestamp      `json:"start_time"`
	User            jsonText       `json:"user"`
	Name            jsonText       `json:"name"`
	ReturnableBytes quantity.Bytes `json:"returnable_bytes"`
	StayingBytes    quantity.Bytes `json:"staying_bytes"`
}

func (r *headroomReport) json() ([]byte, error) {
	q := &r.question
	doc := headroomDocument{
		Schema: schema, Time: timestamp(r.snap.Time), Host: r.snap.Host.Name, Simulated: r.snap.Simulated,
		Headroom: headroomJSON{NeedBytes: q.need, Count: q.count, Answer: r.answer, Places: []placeJSON{}},
	}
	if q.length > 0 {
		length, watched := q.length.Seconds(), q.watch.Seconds()
		doc.Headroom.ForSeconds, doc.Headroom.WatchedSeconds = &length, &watched
	}
	for i := range r.places {
		doc.Headroom.Places = append(doc.Headroom.Places, r.places[i].json())
	}
	return encodeJSON(doc)
}

func (h *headroomPlace) json() placeJSON {
	out := placeJSON{
		GPU: h.gpu.Index, UUID: h.uuid, Name: jsonText(h.gpu.Name), State: string(h.gpu.State), Verdict: h.verdict, Reason: jsonText(h.why()),
		FreeBytes: h.free, ReturnableBytes: h.returnable, ReturnableIsExact: h.exact, StayingBytes: h.staying,
		FullIn: fullInOf(h.fullIn), Flushable: []flushableJSON{},
	}
	if h.instance != nil {
		out.GPUInstance, out.ComputeInstance = &h.instance.ID.GPU, &h.instance.ID.Compute
		out.Profile = jsonText(h.instance.Profile)
	}
	if h.verdict != fitUnknown {
		out.ShortBytes = quantity.From(h.short, quantity.Computed)
	}
	if h.low != nil {
		low := h.low.shown()
		out.LowPoint = &lowJSON{MedianBytes: low.median, Lower80Bytes: low.lower, Upper80Bytes: low.upper}
	}
	for i := range h.flushable {
		f := &h.flushable[i]
		out.Flushable = append(out.Flushable, flushableJSON{
			PID: f.process.ID.Process.PID, StartTime: timestamp(f.process.Started), User: jsonText(f.process.User), Name: jsonText(f.process.Name),
			ReturnableBytes: f.returns, StayingBytes: f.stays,
		})
	}
	return out
}
