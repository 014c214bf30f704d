// Package detail draws what is known about one process. It fills the screen above the alert line (Enter), or stands
// beside the graph on a wide screen.
//
//	who, runtime, probe
//	the parts, each with its share and the one fact that makes it useful
//	allocators, trend, forecast
//	graph                          (where there is room; v: the map of segments)
//
// Start at panel.go.
package detail
