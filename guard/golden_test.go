package guard

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// TestDecisionsAreThoseOfBefore: no change alters decisions by accident. The golden file has all
// decisions of generated courses with rules of all kinds, rescues, and flushes that take long, free
// nothing or are refused, and now and then the standing of each process.
func TestDecisionsAreThoseOfBefore(t *testing.T) {
	var out strings.Builder
	for seed := range uint64(32) {
		fmt.Fprintf(&out, "course %d\n", seed)
		decisionsOf(seed, &out)
	}
	golden.RequireEqual(t, out.String())
}

// decisionsOf plays a course.
func decisionsOf(seed uint64, out *strings.Builder) {
	c := newCourse(seed)
	owner := alice
	if seed%3 > 0 { // the processes belong to several users
		owner, c.box.host, c.policy.Rules[0].Users = root, "root", All
		for i, r := range c.box.rows {
			r.user, r.uid = []string{"ann", "ben", "cat"}[i%3], uint32(1000+i%3)
		}
		c.policy.Importance = append(c.policy.Importance, Importance{User: "ben", Command: "*e*", Value: -20}, Importance{User: "?at", Distributed: true})
	}
	c.policy.Rules[0].Steps = [][]Level{nil, {Gradual}, {Gradual, Urgent}, {Selective, Urgent}}[seed%4]
	if seed%7 == 6 {
		c.policy.Mode = DryRun
	}
	e := New(c.policy, owner)
	start := c.box.now
	note := func(all []Decision) {
		var lines []string
		for _, d := range all {
			lines = append(lines, fmt.Sprintf("%.0f %s %s: %s (%v of %v): %s\n", d.Time.Sub(start).Seconds(), d.Rule, d.Kind, d.Message, d.Free.Or(-1), d.Goal.Or(-1), d.Reason))
		}
		slices.Sort(lines) // decisions of the same moment have no order
		out.WriteString(strings.Join(lines, ""))
	}
	var flights []Decision
	ends := map[int]int{}
	for second := range 1200 {
		c.step(second)
		snap := c.box.snapshot()
		all := e.Decide(snap)
		if second%31 == 30 { // a process asks for memory
			asker := c.box.rows[second%len(c.box.rows)]
			rescue := e.Rescue(snap, Ask{Process: asker.id().Process, GPUUUID: uuid, Bytes: quantity.Bytes(1+c.random.IntN(12)) * gib})
			if seed%5 == 0 && rescue[0].Kind == snapshot.GuardActs {
				e.Withdraw(rescue[0])
				rescue[0].Kind = snapshot.GuardNothing
			}
			all = append(all, rescue...)
		}
		switch {
		case second == 500 && seed%2 == 0:
			all = append(all, e.Pause(snap.Time.Add(40*time.Second)))
		case second == 700 && seed%6 == 0:
			e.Cannot("the audit log is full")
		case second == 760:
			e.Cannot("")
		}
		for _, d := range of(all, snapshot.GuardActs) {
			flights = append(flights, d)
			ends[d.Row.Process.PID] = second
			if c.random.IntN(4) == 0 { // the flush takes long
				ends[d.Row.Process.PID] = second + c.random.IntN(20)
			}
		}
		note(all)
		flights = slices.DeleteFunc(flights, func(d Decision) bool {
			if ends[d.Row.Process.PID] > second {
				return false
			}
			o := c.box.flush(d)
			switch {
			case c.lies && o.Refused == "":
				o.Freed, o.Driver = 0, known(0)
			case c.random.IntN(12) == 0:
				o = Outcome{Time: c.box.now, Refused: "no answer in time"}
			}
			note(e.Finished(d, o))
			return true
		})
		if second%200 == 199 {
			state := e.State()
			fmt.Fprintf(out, "%d %s %s", second, state.Mode, state.Cannot)
			for _, r := range state.Rules {
				fmt.Fprintf(out, "; %s off %q holds %v", r.Name, r.Off, !r.Reached.IsZero())
			}
			for _, s := range state.Standings {
				fmt.Fprintf(out, "; %d importance %d order %d frees %v stays %v %s", s.Row.Process.PID, s.Importance, s.Order, s.Frees, s.Stays.Or(-1), s.Reason)
			}
			out.WriteByte('\n')
		}
	}
}
