package guard

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// Mode is what the guard may do.
type Mode = snapshot.GuardMode

// The modes.
const (
	Off    = snapshot.GuardOff
	DryRun = snapshot.GuardDryRun
	Act    = snapshot.GuardAct
)

// Level is how much a flush may cost the program, as in action/flush.
type Level string

// The levels, gentlest first.
const (
	Gradual   Level = "gradual"
	Selective Level = "selective"
	Urgent    Level = "urgent"
	Sleep     Level = "sleep" // the process's server releases its memory; not a default step
)

// Policy configures a guard.
type Policy struct {
	Mode         Mode
	Every        time.Duration // between two evaluations of the rules; 0: at every snapshot
	MaxPerMinute int           // actions, on all GPUs together; 0: DefaultMaxPerMinute
	Rules        []Rule
	Importance   []Importance
}

// DefaultMaxPerMinute is the limit of a policy that sets none. It limits the harm of a wrong policy.
const DefaultMaxPerMinute = 6

// Guards reports whether a guard has work: rules to apply or, in mode act, rescues to answer.
func (p *Policy) Guards() bool { return p.Mode == Act || p.Mode != Off && len(p.Rules) > 0 }

// Users selects the users whose processes a rule may flush.
type Users string

// The selections. In a guard that is not root's, All means Own.
const (
	Own Users = "own"
	All Users = "all"
)

// Rule is a condition, a goal, and the steps towards it.
type Rule struct {
	Name  string
	GPUs  []string // indices and UUIDs; none: all
	When  When
	Users Users
	Goal  Amount // what should be free
	Steps []Level
	Sleep []string // patterns of the commands of servers that the step Sleep may put to sleep
}

// When is a condition. If it has two parts, both must hold; use two rules for "either".
type When struct {
	FreeBelow Amount // zero: no such condition
	Demand    bool   // less is free than programs will need at their next peaks, or than the goal
	Lease     bool   // the first claim that waits for a lease lacks memory
	// FullWithin is in old configurations. Without FreeBelow it means Demand, otherwise nothing.
	FullWithin time.Duration
	For        time.Duration // how long the condition must hold without a break
}

// Amount is an amount of memory, or a share of a GPU's capacity.
type Amount struct {
	Bytes   quantity.Bytes
	Percent float64
}

// Of returns the amount on a GPU of that capacity.
func (a Amount) Of(capacity quantity.Bytes) quantity.Bytes {
	if a.Percent > 0 {
		return quantity.Bytes(a.Percent / 100 * float64(capacity))
	}
	return a.Bytes
}

// Zero reports whether the amount is unset.
func (a Amount) Zero() bool { return a == Amount{} }

func (a Amount) String() string {
	if a.Percent > 0 {
		return strconv.FormatFloat(a.Percent, 'f', -1, 64) + "%"
	}
	return a.Bytes.String()
}

// above reports whether a is more than b on every GPU; false if they cannot be compared.
func (a Amount) above(b Amount) bool {
	if (a.Percent > 0) != (b.Percent > 0) {
		return false
	}
	return a.Percent > b.Percent || a.Bytes > b.Bytes
}

// Importance sets the importance of the processes that match, −1000 to 1000. The first matching
// entry sets the value. Any matching entry with Protect protects.
type Importance struct {
	User    string // a pattern, like Command and Job: "*" is any text, "?" any character; "": any
	Command string // a pattern for the short command line: "train.py --cfg a.yaml"
	Job     string // "slurm:88123", "pod:*"

	Value       int
	Protect     bool // never flushed
	Distributed bool // a distributed job that matches may be flushed
}

// The bounds of importance.
const (
	LeastImportant = -1000
	MostImportant  = 1000
)

// Steps returns the default steps of a rule.
func Steps() []Level { return []Level{Gradual, Selective, Urgent} }

// Check returns a rule's mistake as a key and an error, or "" and nil.
func (r *Rule) Check() (key string, err error) {
	switch {
	case r.Name == "":
		return "name", errors.New("the rule needs a name, which events and the audit log have as their reason")
	case r.When.FreeBelow.Zero() && !r.When.Demand && !r.When.Lease && r.When.FullWithin == 0:
		return "when", errors.New(`the rule needs a condition: free_below = "20%", demand = true or lease = true`)
	case r.When.Lease && (r.When.Demand || r.When.FullWithin > 0):
		return "when", errors.New("a rule is for what programs will need, or for leases: make two of it")
	case r.When.Lease && r.When.FreeBelow.Zero() && r.Goal.Zero(): // the goal is what the claim lacks
	case r.Goal.Zero():
		return "goal", errors.New(`the rule needs a goal: goal = { free = "15%" }`)
	case r.When.FreeBelow.Zero() || r.Goal.above(r.When.FreeBelow):
	case (r.Goal.Percent > 0) != (r.When.FreeBelow.Percent > 0):
		return "goal", errors.New("write it as when.free_below is written, both in per cent or both as sizes")
	default:
		return "goal", fmt.Errorf("%s is not above when.free_below (%s): the rule would start again as soon as it has stopped", r.Goal, r.When.FreeBelow)
	}
	all := append(Steps(), Sleep)
	for i, level := range r.Steps {
		if !slices.Contains(all, level) {
			return "steps", fmt.Errorf("%q is none of gradual, selective, urgent and sleep", level)
		}
		if i > 0 && slices.Index(all, level) <= slices.Index(all, r.Steps[i-1]) {
			return "steps", fmt.Errorf("%s after %s: name them from the gentlest on", level, r.Steps[i-1])
		}
	}
	if slices.Contains(r.Steps, Sleep) != (len(r.Sleep) > 0) {
		return "sleep", errors.New(`the step "sleep" and whom it may put to sleep belong together: sleep = ["vllm serve*"]`)
	}
	return "", nil
}
