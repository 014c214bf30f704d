package guarding

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/cli/sources"
	"vramscope/guard"
	"vramscope/internal/process"
	"vramscope/internal/text"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
)

// examplePolicy is what guard check --demo explains where the configuration has no rules.
func examplePolicy() guard.Policy {
	return guard.Policy{
		Mode: guard.DryRun, Every: time.Second, MaxPerMinute: guard.DefaultMaxPerMinute,
		Rules: []guard.Rule{
			{Name: "demand", When: guard.When{Demand: true}, Users: guard.Own, Goal: guard.Amount{Percent: 6}, Steps: guard.Steps()},
			{Name: "threshold", When: guard.When{FreeBelow: guard.Amount{Percent: 20}, For: time.Second}, Users: guard.Own, Goal: guard.Amount{Percent: 30}, Steps: guard.Steps()},
		},
		Importance: []guard.Importance{{Command: "train.py*", Protect: true}, {User: "frank", Value: -500}},
	}
}

// guardDemo explains a policy, and what its guard makes of the processes of a simulated box.
func guardDemo(p *command.Program, s config.Settings) error {
	path := p.ConfigPath()
	if len(s.Guard.Rules) == 0 {
		own := s.Guard.Importance
		path, s.Guard = "An example", examplePolicy()
		if len(own) > 0 {
			s.Guard.Importance = own
		}
	}
	words := policyInWords(&s, path, "")
	if s.Guard.Mode == guard.Off {
		s.Guard.Mode = guard.DryRun
	}
	src, err := sources.OpenWith(p, &s, sources.DemoPast)
	if err != nil {
		return err
	}
	src.WatchGuard()
	sampling := sampler.New(src.Options)
	src.CatchUp(sampling, time.Second)
	snap := sampling.Latest()
	return p.Print([]byte(words + "\n" + standingsInWords(snap)))
}

// standingsInWords says of each process whether it would be flushed, and what the guard
// decided last.
func standingsInWords(snap *snapshot.Snapshot) string {
	const commandCells, decisions = 24, 3
	var b strings.Builder
	b.WriteString("SIMULATED: whom the guard would flush on the demo's box, in which order, its importance, and\nhow much of what that frees should stay free:\n")
	for i := range snap.Guard.Standings {
		standing := &snap.Guard.Standings[i]
		p := snap.Row(standing.Row)
		if p == nil {
			continue
		}
		order, frees := "–", standing.Frees.String()
		if standing.Order > 0 {
			order = strconv.Itoa(standing.Order) + "."
		}
		if stays, ok := standing.Stays.Value(); ok {
			frees = stays.String() + " of " + frees
		}
		reason := ""
		if standing.Reason != "" {
			reason = "  " + text.Clean(standing.Reason)
		}
		fmt.Fprintf(&b, "  GPU %d  %-2s  %-6s %-24s  %+5d  %14s%s\n", p.GPU, order, text.Clean(cmp.Or(p.User, "?")),
			text.Cut(text.Clean(process.ShortCommand(p.Command, p.Name)), commandCells, "…"), standing.Importance, frees, reason)
	}
	b.WriteString("\nWhat it decided last:\n")
	for i, d := range snap.Guard.Decisions {
		if i < decisions {
			b.WriteString("  " + decisionLine(d.Time, fmt.Sprintf("GPU %d  ", d.GPU), d.Message))
		}
	}
	return b.String()
}
