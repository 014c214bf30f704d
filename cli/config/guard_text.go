package config

import (
	"fmt"
	"strconv"
	"strings"

	"vramscope/guard"
	"vramscope/internal/quantity"
)

// writeGuardLists writes the rules and the importance as TOML that reads back.
func writeGuardLists(b *strings.Builder, p *guard.Policy) {
	for i := range p.Rules {
		r := &p.Rules[i]
		fmt.Fprintf(b, "[[%s]]\nname = %s\n", ruleList, tomlString(r.Name))
		if len(r.GPUs) > 0 {
			fmt.Fprintf(b, "gpu = %s\n", tomlList(r.GPUs))
		}
		var when []string
		if !r.When.FreeBelow.Zero() {
			when = append(when, "free_below = "+amountLiteral(r.When.FreeBelow))
		}
		if r.When.FullWithin > 0 {
			when = append(when, "full_within = "+strconv.Quote(quantity.BriefDuration(r.When.FullWithin)))
		}
		if r.When.For > 0 {
			when = append(when, "for = "+strconv.Quote(quantity.BriefDuration(r.When.For)))
		}
		steps := make([]string, len(r.Steps))
		for i, step := range r.Steps {
			steps[i] = string(step)
		}
		fmt.Fprintf(b, "when = { %s }\nusers = %q\ngoal = { free = %s }\nsteps = %s\n",
			strings.Join(when, ", "), string(r.Users), amountLiteral(r.Goal), tomlList(steps))
	}
	for i := range p.Importance {
		e := &p.Importance[i]
		var match []string
		for _, part := range []struct{ key, value string }{{"user", e.User}, {"command", e.Command}, {"job", e.Job}} {
			if part.value != "" {
				match = append(match, part.key+" = "+tomlString(part.value))
			}
		}
		fmt.Fprintf(b, "[[%s]]\nmatch = { %s }\nvalue = %d\n", importanceList, strings.Join(match, ", "), e.Value)
		if e.Protect {
			b.WriteString("protect = true\n")
		}
		if e.Distributed {
			b.WriteString("distributed = true\n")
		}
	}
}

// amountLiteral reads back exactly.
func amountLiteral(a guard.Amount) string {
	if a.Percent > 0 {
		return strconv.Quote(strconv.FormatFloat(a.Percent, 'g', -1, 64) + "%")
	}
	return strconv.Quote(exactBytes(a.Bytes))
}
