package gpupage

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/graph"
)

type Page struct {
	Appearance *cell.Appearance
	Snapshot   *snapshot.Snapshot // never nil
	snapshot.Place
	Now   cell.Moment
	Graph graph.Graph // of the GPU's or instance's memory
	Top   int         // lines that are scrolled away
}

type subject struct {
	gpu      *snapshot.GPU
	instance *snapshot.Instance // nil: the whole GPU
	index    string             // "5", "5:1"
	window   time.Duration      // of the graphs
}

// subject finds the GPU and instance in the snapshot; false if they are not there.
func (p *Page) subject() (subject, bool) {
	gpu := p.Snapshot.GPU(p.GPUUUID)
	if gpu == nil {
		return subject{}, false
	}
	target := subject{gpu: gpu, index: strconv.Itoa(gpu.Index)}
	if p.Instance.MIG {
		if target.instance = gpu.Instance(p.Instance); target.instance == nil {
			return subject{}, false
		}
		target.index = string(cell.AppendIndex(nil, gpu.Index, gpu.InstanceNumber(p.Instance)))
	}
	return target, true
}

// Render returns exactly height lines of exactly width cells.
func (p *Page) Render(width, height int) []string {
	if width <= 0 || height <= 0 {
		return cell.Blank(max(width, 0), height)
	}
	target, ok := p.subject()
	if !ok {
		return cell.Fill([]string{cell.Indented(p.Appearance, width, cell.Span{Style: p.Appearance.Styles.Dim, Text: "this GPU is not there; Esc goes back"})}, width, height)
	}
	head, rest := p.head(&target, width), p.rest(&target, width)
	body := append(p.graphs(&target, width, height, height-1-len(rest)), rest...)
	top := min(max(p.Top, 0), max(1+len(body)-height, 0))
	return cell.Fill(append([]string{head}, body[min(top, len(body)):]...), width, height)
}

// Lines returns how many lines the page has, of which Render shows height.
func (p *Page) Lines(width, height int) int {
	target, ok := p.subject()
	if !ok {
		return 1
	}
	rest := len(p.rest(&target, width))
	memory, meters := p.graphRows(&target, width, height, height-1-rest)
	return 1 + memory + meters + rest
}

// head returns the first line, which does not scroll.
func (p *Page) head(target *subject, width int) string {
	s, g := &p.Appearance.Styles, &p.Appearance.Glyphs
	l := cell.NewLine(width)
	l.Skip(1)
	l.Put(s.Strong, "GPU "+target.index)
	memory, outlook := target.gpu.MemoryOf(p.Instance), target.gpu.OutlookOf(p.Instance)
	l.Skip(2)
	used := cell.AppendUsedTotal(nil, memory.Used, memory.Total, g.Dash)
	name := text.Clean(target.gpu.Name)
	if target.instance != nil {
		name = text.Clean(target.instance.Profile) + " of " + name
	}
	right := []cell.Span{{Style: s.Text, Text: string(used)}}
	if target.gpu.State != snapshot.GPUOK {
		right = []cell.Span{{Style: s.Warning, Text: string(target.gpu.State) + " for " + quantity.Duration(p.Now.Since(target.gpu.Since))}}
	} else if outlook.FullIn != nil {
		right = append(right, cell.Span{Style: s.Leak, Text: "  " + outlook.FullIn.Words(g.EnDash)})
	} else if words := outlook.Doubt.Words(); words != "" {
		right = append(right, cell.Span{Style: s.Dim, Text: "  " + words})
	}
	room := width - l.Used() - cell.SpansWidth(right) - 3
	if room >= 8 {
		l.Left(s.Text, name, room, g.Ellipsis)
	}
	l.To(width - cell.SpansWidth(right) - 1)
	l.PutSpans(right, width, g.Ellipsis)
	return l.String()
}

func (p *Page) rest(target *subject, width int) []string {
	lines := p.identity(target, width)
	if target.instance != nil {
		lines = append(lines, p.rule(width, "the whole GPU "+strconv.Itoa(target.gpu.Index)))
	}
	lines = append(lines, p.grid(p.measured(target.gpu), width)...)
	lines = append(lines, p.xids(target, width)...)
	lines = append(lines, p.instances(target, width)...)
	lines = append(lines, p.processes(target, width)...)
	lines = append(lines, p.holders(target, width)...)
	return append(lines, p.links(target, width)...)
}

// identity returns how the driver and the machine name the GPU or instance.
func (p *Page) identity(target *subject, width int) []string {
	uuid := text.Clean(target.gpu.UUID)
	if target.instance != nil {
		uuid = text.Clean(target.instance.UUID)
	}
	dash := p.Appearance.Glyphs.Dash
	cells := []figure{{"bus", cmp.Or(text.Clean(target.gpu.PCIBusID), dash), false}, {"UUID", uuid, false}}
	if target.instance != nil {
		slices := dash
		if target.instance.Slices > 0 {
			slices = strconv.Itoa(target.instance.Slices)
		}
		cells = append(cells, figure{"slices", slices, false})
	}
	return p.wrapped(cells, width)
}

// wrapped puts figures one after the other, on as many lines as they need.
func (p *Page) wrapped(figures []figure, width int) []string {
	var lines []string
	l := cell.NewLine(width)
	for i, f := range figures {
		need := text.Width(f.name) + 1 + text.Width(f.value) + 2
		if i > 0 && l.Used()+need > width {
			lines = append(lines, l.String())
			l.Reset(width)
		}
		l.Skip(1)
		if l.Used() > 1 {
			l.Skip(1)
		}
		l.Put(p.Appearance.Styles.Dim, f.name)
		l.Skip(1)
		l.Put(p.Appearance.Styles.Text, text.Cut(f.value, width-l.Used(), p.Appearance.Glyphs.Ellipsis))
	}
	return append(lines, l.String())
}

func (p *Page) rule(width int, title string) string {
	return cell.TitledRule(p.Appearance, width, title, p.Appearance.Styles.Title, nil)
}

// style returns the style of a figure: a warning, dim if it is unknown, or plain.
func (p *Page) style(f *figure) themes.Style {
	switch {
	case f.warn:
		return p.Appearance.Styles.Warning
	case strings.HasPrefix(f.value, p.Appearance.Glyphs.Dash):
		return p.Appearance.Styles.Dim
	default:
		return p.Appearance.Styles.Text
	}
}
