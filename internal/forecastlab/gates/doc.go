// The command gates measures how good the forecast's decisions are: the gates of docs/forecast.md,
// each with its figure and its aim. The gates of alerts show scenes to the monitor (a Sampler with
// its alerts) on a simulated clock.
//
//	regime → scene → watch → watched (alerts, fills) → score → rows
//
// An alert is right if the GPU runs out of memory within twice the announced time, or within 1.5
// times the latest announced time. A slow fill is a leak or a ramp that grew for a minute or more. A
// slow fill is caught if its first alert comes early enough: two minutes before the fill, or half of
// the time that memory grew, whichever is less. Start reading at gates (main.go).
package main
