// The command gates measures what the forecast's decisions are worth: the gates
// of docs/forecast.md, each with its figure and its aim. The gates of alerts show scenes
// to the monitor (a Sampler with its alerts) on a simulated clock.
//
//	regime → scene → watch → watched (alerts, fills) → score → rows
//
// An alert is right if the GPU runs out of memory within twice the time that it announced,
// or within one and a half times the latest that it announced. A slow fill is one of a leak
// or a ramp that grew for a minute or more; it is caught if an alert comes two minutes
// before it, or half of its growth. Start reading at gates
// (main.go).
package main
