package gpus

import (
	"time"

	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// sparkWindow is what the sparkline of utilisation shows, a minute a cell.
const (
	sparkWindow = 10 * time.Minute
	sparkCells  = 10
)

// Sparks keeps the sparklines that were last read: between two samples nothing of them
// changes, however many frames are drawn.
type Sparks struct {
	at time.Time
	of map[string][]snapshot.Point // by UUID
}

// points is a GPU's utilisation up to the shown moment.
func (p *Panel) points(uuid string) []snapshot.Point {
	s := p.Sparks
	if s == nil {
		s = &Sparks{}
	}
	if at := p.Snapshot.Time; s.of == nil || !s.at.Equal(at) {
		*s = Sparks{at: at, of: make(map[string][]snapshot.Point, len(p.Snapshot.GPUs))}
	}
	points, read := s.of[uuid]
	if !read {
		points = p.History.Series(snapshot.SeriesKey{Metric: metric.Utilization, GPUUUID: uuid}, s.at.Add(-sparkWindow), s.at, sparkCells)
		s.of[uuid] = points
	}
	return points
}

// writeSpark draws the highest utilisation of each minute, on the scale of 100 %.
func (p *Panel) writeSpark(l *cell.Line, line Line, cells int) {
	g := &p.Appearance.Glyphs
	l.Skip(1)
	if p.History == nil || line.Instance != nil || len(g.Spark) == 0 {
		l.Skip(cells)
		return
	}
	for _, point := range p.points(line.GPU.UUID) {
		if !point.Known {
			l.Skip(1)
			continue
		}
		level := int(point.Max) * len(g.Spark) / 100
		l.Repeat(p.Appearance.Styles.Dim, g.Spark[min(max(level, 0), len(g.Spark)-1)], 1)
	}
}
