package bed

import (
	"time"

	"vramscope/guard"
	"vramscope/internal/guardlab/world"
)

// Policy is what is compared: a guard's configuration, or none.
type Policy struct {
	Name       string
	Threshold  bool
	Forecast   bool
	Importance bool // of the jobs, by their users
	Rescue     bool
}

// Policies are the policies of the table. The first is no guard.
func Policies() []Policy {
	return []Policy{
		{Name: "none"},
		{Name: "threshold", Threshold: true},
		{Name: "threshold + forecast", Threshold: true, Forecast: true},
		{Name: "forecast + importance", Threshold: true, Forecast: true, Importance: true},
		{Name: "with rescue", Threshold: true, Forecast: true, Importance: true, Rescue: true},
		{Name: "rescue alone", Importance: true, Rescue: true},
	}
}

// guards reports whether there is a guard.
func (p Policy) guards() bool { return p.Threshold || p.Forecast || p.Rescue }

// configuration is the policy that a [guard] section would give, with the figures of docs/guard.md.
func (p Policy) configuration(jobs []*world.Job) guard.Policy {
	c := guard.Policy{Mode: guard.Act, Every: world.Tick}
	goal := guard.Amount{Percent: 15}
	if p.Threshold {
		c.Rules = append(c.Rules, guard.Rule{
			Name: "room", Users: guard.All, Goal: goal,
			When: guard.When{FreeBelow: guard.Amount{Percent: 10}, For: 10 * time.Second},
		})
	}
	if p.Forecast {
		c.Rules = append(c.Rules, guard.Rule{
			Name: "ahead", Users: guard.All, Goal: goal, When: guard.When{FullWithin: 3 * time.Minute},
		})
	}
	if p.Importance {
		for _, j := range jobs {
			c.Importance = append(c.Importance, guard.Importance{User: j.Name, Value: j.Importance})
		}
	}
	return c
}
