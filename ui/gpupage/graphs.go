package gpupage

import (
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/ui/graph"
)

// The heights of the graphs: a page of this height has them, a taller one larger ones.
const (
	graphsFrom = 14
	meterRows  = 4
	sideBySide = 160 // columns from which on the meters are beside the memory
)

// graphRows are the heights of the memory's graph, and of the meters where they are under
// it. Graphs take at least so much of the height, and the room that all else leaves.
func (p *Page) graphRows(of *subject, width, height, room int) (memory, meters int) {
	if height < graphsFrom {
		return 0, 0
	}
	if measured(of) && width < sideBySide {
		meters = meterRows + height/20
	}
	return max(min(max(height*2/5, graph.LeastHeight), 16), room-meters), meters
}

// graphs are the memory and, of a whole GPU, utilisation and memory bandwidth.
func (p *Page) graphs(of *subject, width, height, room int) []string {
	rows, under := p.graphRows(of, width, height, room)
	if rows == 0 {
		return nil
	}
	left := width
	if under == 0 && measured(of) {
		left = width * 3 / 5
	}
	lines := p.Graph.Render(left, rows)
	of.window = p.Graph.WindowFor(rows)
	switch {
	case under > 0:
		half := (width - 1) / 2
		first, second := p.meters(of, half, under, width-half-1, under)
		for i := range first {
			lines = append(lines, first[i]+" "+second[i])
		}
	case left < width:
		first, second := p.meters(of, width-left-1, (rows+1)/2, width-left-1, rows/2)
		for i, line := range append(first, second...) {
			lines[i] += " " + line
		}
	}
	return lines
}

// measured reports whether the driver measures utilisation: only of a whole GPU without MIG.
func measured(of *subject) bool { return of.instance == nil && !of.gpu.MIG }

// meters are utilisation and memory bandwidth.
func (p *Page) meters(of *subject, width, height, width2, height2 int) (first, second []string) {
	meter := func(name string, id metric.ID, now snapshot.Int) graph.Meter {
		g := p.Graph
		g.Window = of.window
		return graph.Meter{Graph: g, Name: name, Now: now, Key: snapshot.SeriesKey{Metric: id, GPUUUID: of.gpu.UUID}}
	}
	return meter("utilization", metric.Utilization, of.gpu.Utilization).Render(width, height),
		meter("memory bandwidth", metric.MemoryUtilization, of.gpu.MemoryUtilization).Render(width2, height2)
}
