package gpupage

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

func (p *Page) links(target *subject, width int) []string {
	if target.instance != nil || len(target.gpu.NVLinks) == 0 {
		return nil
	}
	w := words{p.Appearance.Glyphs.Dash, p.Appearance.Glyphs.Times}
	figures := make([]figure, 0, len(target.gpu.NVLinks))
	for i := range target.gpu.NVLinks {
		link := &target.gpu.NVLinks[i]
		f := figure{name: "link " + strconv.Itoa(link.Link)}
		if !link.Active {
			f.value, f.warn = "down", true
		} else {
			f.value = w.rates(link.Received, link.Sent)
			for _, errors := range []struct {
				name  string
				count uint64
			}{{"CRC", link.CRCErrors.Or(0)}, {"replays", link.Replays.Or(0)}, {"recoveries", link.Recoveries.Or(0)}} {
				if errors.count > 0 {
					f.value += " " + errors.name + " " + strconv.FormatUint(errors.count, 10)
				}
			}
		}
		figures = append(figures, f)
	}
	return append([]string{p.rule(width, "NVLinks, received and sent")}, p.grid(figures, width)...)
}

func (p *Page) instances(target *subject, width int) []string {
	if target.instance != nil || len(target.gpu.Instances) == 0 {
		return nil
	}
	lines := []string{p.rule(width, "instances")}
	l := cell.NewLine(width)
	for i := range target.gpu.Instances {
		in := &target.gpu.Instances[i]
		l.Reset(width)
		l.Skip(1)
		l.Put(p.Appearance.Styles.Text, string(cell.AppendIndex(nil, target.gpu.Index, i+1)))
		l.Skip(2)
		l.Left(p.Appearance.Styles.Text, text.Clean(in.Profile), 10, p.Appearance.Glyphs.Ellipsis)
		l.Skip(1)
		l.RightFigure(p.Appearance.Styles.Text, cell.AppendUsedTotal(l.Scratch(), in.Memory.Used, in.Memory.Total, p.Appearance.Glyphs.Dash), 10)
		l.Skip(2)
		if width > 60 {
			l.InstanceBar(p.Appearance, target.gpu, in, min(width-l.Used()-1, 40), cell.PartsOf(in.Parts, in.Memory.Used))
		}
		lines = append(lines, l.String())
	}
	return lines
}

func (p *Page) processes(target *subject, width int) []string {
	s, g := &p.Appearance.Styles, &p.Appearance.Glyphs
	rows := slices.Collect(p.Snapshot.PlaceRows(p.Place))
	slices.SortStableFunc(rows, func(a, b *snapshot.Process) int { return cmp.Compare(b.Used.Or(-1), a.Used.Or(-1)) })
	lines := []string{p.rule(width, text.Plural(len(rows), "process", "processes"))}
	if a := target.gpu.Allocation; a != nil {
		words := "idle " + quantity.Duration(p.Now.Since(a.Since)) + ", " + text.Clean(a.String())
		lines = append(lines, cell.Indented(p.Appearance, width, cell.Span{Style: p.Appearance.Styles.Warning, Text: words}))
	}
	if len(rows) == 0 {
		return lines
	}
	wide := width >= 64
	l := cell.NewLine(width)
	l.Right(s.Header, "PID", 8)
	l.Skip(1)
	l.Left(s.Header, "USER", 8, "")
	titles := []string{"USED", "SM%", "MEM%", "ENC%", "DEC%"}
	if !wide {
		titles = titles[:1]
	}
	for _, title := range titles {
		l.Right(s.Header, title, len(title)+1+5-min(len(title), 5))
	}
	l.Skip(1)
	l.Put(s.Header, "COMMAND")
	lines = append(lines, l.String())
	for _, row := range rows {
		l.Reset(width)
		l.RightFigure(s.Text, cell.AppendInt(l.Scratch(), row.ID.Process.PID), 8)
		l.Skip(1)
		l.Left(s.Dim, cell.UserName(row), 8, g.Ellipsis)
		l.RightFigure(p.Appearance.Known(row.Used.Known()), cell.AppendBytes(l.Scratch(), row.Used, g.Dash), 6)
		if wide {
			for _, v := range []snapshot.Int{row.SMUtilization, row.MemoryUtilization, row.EncoderUtilization, row.DecoderUtilization} {
				l.RightFigure(p.Appearance.Known(v.Known()), cell.AppendPercent(l.Scratch(), v, g.Dash), 6)
			}
		}
		l.Skip(1)
		l.Put(s.Text, text.Cut(p.Appearance.ShortCommand(row), width-l.Used(), g.Ellipsis))
		lines = append(lines, l.String())
	}
	return lines
}

// holders returns the processes that have the device file open and that the driver does not list.
func (p *Page) holders(target *subject, width int) []string {
	if target.instance != nil || len(target.gpu.Holders) == 0 {
		return nil
	}
	unattributed := p.Appearance.Glyphs.Bytes(target.gpu.Unattributed)
	lines := []string{p.rule(width, "/dev/nvidia* is open, but not listed: "+unattributed+" belongs to no listed process")}
	for i := range target.gpu.Holders {
		h := &target.gpu.Holders[i]
		command, user := cmp.Or(strings.Join(h.Command, " "), h.Name), cmp.Or(text.Clean(h.User), "?")
		lines = append(lines, cell.Indented(p.Appearance, width, cell.Span{Style: p.Appearance.Styles.Text, Text: text.Pad(strconv.Itoa(h.Process.PID), 8)},
			cell.Span{Style: p.Appearance.Styles.Dim, Text: text.Pad(user, 9)}, cell.Span{Style: p.Appearance.Styles.Text, Text: text.Clean(command)}))
	}
	return lines
}

// xids returns the critical errors of the last hour, with their meaning.
func (p *Page) xids(target *subject, width int) []string {
	if len(target.gpu.XIDs) == 0 {
		return nil
	}
	lines := []string{p.rule(width, "critical errors (Xid)")}
	for _, x := range target.gpu.XIDs {
		m := x.Meaning()
		style := p.Appearance.Styles.Warning
		if m.Urgent {
			style = p.Appearance.Styles.Leak
		}
		words := m.Advice
		if m.Words != "" {
			words = m.Words + ": " + words
		}
		head := text.Pad(p.Now.Clock(x.Time), 9) + text.Pad("Xid "+strconv.FormatUint(x.Code, 10), 8)
		for _, spans := range p.Appearance.Paragraph(cell.Span{Style: style, Text: head}, p.Appearance.Styles.Text, words, max(width-3, 29), 3) {
			lines = append(lines, cell.Indented(p.Appearance, width, spans...))
		}
	}
	return lines
}
