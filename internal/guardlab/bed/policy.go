package bed

import (
	"time"

	"vramscope/guard"
	"vramscope/internal/guardlab/world"
)

// Policy is one of the policies that are compared: a guard's configuration, or none.
type Policy struct {
	Name       string
	Below      float64 // a threshold acts below this percentage of free memory, until Goal is free
	Goal       float64
	For        time.Duration
	Demand     bool // keeps free Goal and the memory that programs will need
	Importance bool // sets the importance of the jobs, by their users
	Rescue     bool
}

// Policies returns the policies of the table. The first is no guard. "20 % for 1 s" is the simple
// threshold that is best on the seeds below 1000.
func Policies() []Policy {
	return []Policy{
		{Name: "none"},
		{Name: "10 % for 10 s", Below: 10, Goal: 15, For: 10 * time.Second, Importance: true},
		{Name: "20 % for 1 s", Below: 20, Goal: 30, For: time.Second, Importance: true},
		{Name: "demand", Demand: true, Goal: 6, Importance: true},
		{Name: "rescue alone", Importance: true, Rescue: true},
		{Name: "demand + rescue", Demand: true, Goal: 6, Importance: true, Rescue: true},
	}
}

// guards reports whether there is a guard.
func (p Policy) guards() bool { return p.Below > 0 || p.Demand || p.Rescue }

// configuration returns p as the configuration of a guard.
func (p Policy) configuration(jobs []*world.Job) guard.Policy {
	c := guard.Policy{Mode: guard.Act, Every: world.Tick}
	if p.Below > 0 || p.Demand {
		c.Rules = []guard.Rule{{
			Name: "room", Users: guard.All, Goal: guard.Amount{Percent: p.Goal},
			When: guard.When{FreeBelow: guard.Amount{Percent: p.Below}, For: p.For, Demand: p.Demand},
		}}
	}
	if p.Importance {
		for _, j := range jobs {
			c.Importance = append(c.Importance, guard.Importance{User: j.Name, Value: j.Importance})
		}
	}
	return c
}
