package main

import (
	"fmt"
	"os"
	"path"
	"slices"

	"vramscope/forecast/backtest"
)

func readRecording(path string) (*backtest.Trace, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the recording: %w", err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	return backtest.Read(file)
}

// group are the series of a recording whose names are the same up to the last slash.
type group struct {
	name      string
	summaries []backtest.Summary // by method
}

// measureRecording takes every method through the groups of a recording.
func measureRecording(file string) ([]group, error) {
	trace, err := readRecording(file)
	if err != nil {
		return nil, err
	}
	var groups []group
	series := map[string][]*backtest.Series{}
	for _, s := range trace.Series {
		name := path.Dir(s.ID)
		if series[name] == nil {
			groups = append(groups, group{name: name})
		}
		series[name] = append(series[name], s)
	}
	return groups, parallel(len(groups), func(i int) error {
		for _, method := range methods() {
			sum, err := scored(series[groups[i].name], method.make)
			if err != nil {
				return err
			}
			groups[i].summaries = append(groups[i].summaries, sum)
		}
		return nil
	})
}

// recordingGates are those of a recording.
func recordingGates(groups []group) []gate {
	relative := gate{what: "recording: relative error at every horizon", aim: "≤ 1.02"}
	in80 := gate{what: "recording: memory within its 80 % interval, 10–15 min", aim: "≥ 78 %"}
	in95 := gate{what: "recording: memory within its 95 % interval, 10–15 min", aim: "≥ 92 %"}
	for _, g := range groups {
		horizons := g.summaries[0].Horizons
		k, worst := highest(func(k int) backtest.Figure { return horizons[k].Relative })
		relative.most(g.name+" at "+horizonNames()[k], worst, 1.02, func(v backtest.Figure) string { return written("%.3f", v) })
		for k := range horizons {
			if h := &horizons[k]; h.Seconds >= 600 && h.Forecasts > 0 {
				in80.atLeast(g.name+" at "+horizonNames()[k], h.In80.Coverage, 0.78, percentage)
				in95.atLeast(g.name+" at "+horizonNames()[k], h.In95.Coverage, 0.92, percentage)
			}
		}
	}
	return slices.DeleteFunc([]gate{relative, in80, in95}, func(g gate) bool { return len(g.results) == 0 })
}

// recordingErrors is a table of a figure of every method at the horizons scored.
func recordingErrors(corner string, titles []string, all []backtest.Summary, figure func(*backtest.HorizonSummary) backtest.Figure, more func(k int) []string) string {
	return grid(corner, titles, horizonNames(), func(k int) []string {
		if all[0].Horizons[k].Forecasts == 0 {
			return nil
		}
		return append(each(len(all), func(j int) string { return fmt.Sprintf("%.3f", figure(&all[j].Horizons[k])) }), more(k)...)
	})
}

func relativeOf(h *backtest.HorizonSummary) backtest.Figure { return h.Relative }

// recordingTable is the figures of a recording's first group.
func recordingTable(g *group) string {
	names := each(len(g.summaries), func(j int) string { return methods()[j].name })
	own := &g.summaries[0]
	return recordingErrors(g.name, append(names, "within 80 %", "within 95 %"), g.summaries, relativeOf, func(k int) []string {
		return []string{percentage(own.Horizons[k].In80.Coverage), percentage(own.Horizons[k].In95.Coverage)}
	}) + fmt.Sprintf("\n%d of %d series were ever called a leak, at %s of the samples.\n",
		own.Leak.Series, own.Series, percentage(own.Leak.Share))
}
