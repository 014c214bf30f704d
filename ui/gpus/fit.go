package gpus

import (
	"strings"
	"time"

	"vramscope/headroom"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
)

// Fit says whether a job of some size fits now, when a GPU will be full, and whether flushed memory stays free.
type Fit struct {
	headroom.Report
	later headroom.Report // for a job of a minute: what of a flush stays free
}

// FitOf judges whether a job of a size, such as "20G", fits; nil if need is no size or nothing was measured.
func FitOf(need string, s *snapshot.Snapshot, history snapshot.History) *Fit {
	question, ok := headroom.ParseNeed(need)
	if !ok || s == nil || history == nil {
		return nil
	}
	f := &Fit{Report: headroom.Judge(s, history, question)}
	question.Length = time.Minute
	f.later = headroom.Judge(s, history, question)
	return f
}

// Words returns "need 20G: GPU 4, 6 yes; 0 after a flush (13G); 3 no, full in 4m; 1 no", with what a flush frees only
// if amounts is set.
func (f *Fit) Words(need string, amounts bool) string {
	var answers []string
	for _, v := range [...]headroom.Verdict{headroom.Yes, headroom.AfterFlush, headroom.No, headroom.Unknown} {
		var plain []string // without anything to add
		for i := range f.Places {
			p := &f.Places[i]
			if p.Verdict != v {
				continue
			}
			if more := f.more(i, amounts); more != "" {
				answers = append(answers, p.Label+" "+VerdictWords(v)+more)
			} else {
				plain = append(plain, p.Label)
			}
		}
		if len(plain) > 0 {
			answers = append(answers, strings.Join(plain, ", ")+" "+VerdictWords(v))
		}
	}
	s := "need " + need + ": "
	if f.Question.Count > 1 {
		s += VerdictWords(f.Answer) + ": "
	}
	return s + "GPU " + strings.Join(answers, "; ")
}

func VerdictWords(v headroom.Verdict) string {
	if v == headroom.AfterFlush {
		return "after a flush"
	}
	return string(v)
}

// more returns the words after the verdict on a place: what a flush frees, when the GPU will be full.
func (f *Fit) more(i int, amounts bool) string {
	p := &f.Places[i]
	s := ""
	if p.Verdict == headroom.AfterFlush && amounts {
		s = " (" + p.Returnable.Or(0).String()
		if p.Free.Or(0)+f.later.Places[i].Staying.Or(0) < f.Question.Need {
			s += ", if its peak does not come"
		}
		s += ")"
	}
	if full := p.FullIn(); full != nil {
		s += ", " + full.Brief()
	}
	return s
}

// place returns the verdict on a GPU or a MIG instance; nil if none was asked for or found.
func (p *Panel) place(line Line) *headroom.Place {
	if p.Fit == nil {
		return nil
	}
	uuid := (&headroom.Place{GPU: line.GPU, Instance: line.Instance}).UUID()
	return snapshot.Find(p.Fit.Places, func(place *headroom.Place) bool { return place.UUID() == uuid })
}

// need returns the piece of the bar that the job would take.
func (p *Panel) need(line Line) []cell.Piece {
	place := p.place(line)
	if place == nil {
		return nil
	}
	s := &p.Appearance.Styles
	style := map[headroom.Verdict]themes.Style{headroom.Yes: s.Key, headroom.AfterFlush: s.Warning, headroom.No: s.Leak}[place.Verdict]
	return []cell.Piece{{Ink: cell.Span{Style: style, Text: "+"}, Amount: p.Fit.Question.Need}}
}

func (p *Panel) fits(line Line) string {
	place := p.place(line)
	switch {
	case place == nil || place.Verdict == headroom.Unknown:
		return ""
	case place.Verdict == headroom.Yes:
		return "fits"
	case place.Verdict == headroom.AfterFlush:
		return "fits after a flush"
	case place.Reason != "":
		return "no: " + place.Reason
	default:
		return "no: " + place.Short.String() + " short"
	}
}
