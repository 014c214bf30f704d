// The command gates measures how good the forecast's decisions are: the gates of docs/forecast.md,
// each with its figure and its aim. The gates of alerts show scenes to the monitor (a Sampler with
// its alerts) on a simulated clock.
//
//	regime → scene → watch → watched (alerts, fills) → score → rows
//
// An alert is right if the GPU runs out of memory within twice the median of the announced time or 1.5
// times its late end, whichever is longer. A fill is slow if a leak or a ramp grew for a minute or more
// before it. A slow fill is caught if its first alert comes early enough: two minutes before the fill,
// or half of the time that memory grew, whichever is less. Start reading at gates (main.go).
package main
