// Package graph draws used memory over time: history to the left of now, the forecast's median and 80 % bounds to the
// right, and the capacity as a line.
//
//	History.Series, Predicted ── curves ──→ values per column (columns.go)
//	values ── scaleOf ──→ rows and labels of the axis (scale.go)
//	plot ── asciigraph, restyled ──→ lines in the theme's colours (plot.go)
//
// SubjectOf gathers what is drawn (subject.go). Start reading at Graph.Render.
package graph
