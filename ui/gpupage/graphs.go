package gpupage

import (
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/ui/graph"
)

const (
	graphsFrom = 14  // the minimum height of a page with graphs
	meterRows  = 4   // the height of the meters on a low page
	sideBySide = 160 // the minimum width for meters beside the memory
)

// graphRows returns the heights of the memory's graph and of the meters below it; 0 if there are none.
func (p *Page) graphRows(target *subject, width, height, room int) (memory, meters int) {
	if height < graphsFrom {
		return 0, 0
	}
	if measured(target) && width < sideBySide {
		meters = meterRows + height/20
	}
	return max(min(max(height*2/5, graph.MinHeight), 16), room-meters), meters
}

// graphs draws memory and, where the driver measures them, utilization and memory bandwidth.
func (p *Page) graphs(target *subject, width, height, room int) []string {
	rows, under := p.graphRows(target, width, height, room)
	if rows == 0 {
		return nil
	}
	left := width
	if under == 0 && measured(target) {
		left = width * 3 / 5
	}
	lines := p.Graph.Render(left, rows)
	target.window = p.Graph.WindowFor(rows)
	switch {
	case under > 0:
		half := (width - 1) / 2
		first, second := p.meters(target, half, under, width-half-1, under)
		for i := range first {
			lines = append(lines, first[i]+" "+second[i])
		}
	case left < width:
		first, second := p.meters(target, width-left-1, (rows+1)/2, width-left-1, rows/2)
		for i, line := range append(first, second...) {
			lines[i] += " " + line
		}
	}
	return lines
}

// measured reports whether the driver measures utilization: only of a whole GPU without MIG.
func measured(target *subject) bool { return target.instance == nil && !target.gpu.MIG }

func (p *Page) meters(target *subject, width, height, width2, height2 int) (first, second []string) {
	meter := func(name string, id metric.ID, now snapshot.Int) graph.Meter {
		g := p.Graph
		g.Window = target.window
		return graph.Meter{Graph: g, Name: name, Now: now, Key: snapshot.SeriesKey{Metric: id, GPUUUID: target.gpu.UUID}}
	}
	return meter("utilization", metric.Utilization, target.gpu.Utilization).Render(width, height),
		meter("memory bandwidth", metric.MemoryUtilization, target.gpu.MemoryUtilization).Render(width2, height2)
}
