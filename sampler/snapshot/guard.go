package snapshot

import (
	"fmt"
	"strconv"
	"time"

	"vramscope/internal/quantity"
)

// GuardMode is what a guard may do.
type GuardMode string

const (
	GuardOff    GuardMode = "off"
	GuardDryRun GuardMode = "dry-run" // the guard reports what it would do
	GuardAct    GuardMode = "act"
)

// Guard is the state of this box's guard.
type Guard struct {
	Mode      GuardMode // GuardDryRun if the guard should act but cannot
	Cannot    string    // why the guard cannot act although it should, or ""
	ByDaemon  bool      // the guard runs in the daemon, not in this program
	Paused    time.Time // until then the guard does nothing; zero if it is not paused
	Rules     []GuardRule
	Standings []GuardStanding // of the rows, in the rows' order
	Decisions []GuardDecision // newest first
}

type GuardRule struct {
	Name    string
	Off     string    // why it was turned off; "" while it is in force
	Reached time.Time // since when the condition has held on a device, the earliest; zero if it holds on none
}

// GuardStanding is a row's place in the order of flushes, or why the guard does not flush the row now.
type GuardStanding struct {
	Row        RowID
	Importance int
	Order      int            // among the rows of the device: 1 is flushed first; 0 is not flushed now
	Reason     string         // why the row is not flushed now; "" if Order is not 0
	Frees      quantity.Bytes // how much a flush frees
	Stays      Bytes          // how much of Frees should stay free
}

type GuardDecisionKind string

const (
	GuardActs     GuardDecisionKind = "act"       // a flush is to be done now
	GuardWould    GuardDecisionKind = "would"     // in dry-run: the flush would be done
	GuardFlushed  GuardDecisionKind = "flushed"   // the flush was done
	GuardRefused  GuardDecisionKind = "refused"   // the flush could not be done
	GuardNothing  GuardDecisionKind = "nothing"   // nothing is done, for a reason
	GuardReached  GuardDecisionKind = "reached"   // a rule's goal is reached
	GuardCameBack GuardDecisionKind = "came_back" // the process took the memory again within a minute
	GuardTripped  GuardDecisionKind = "tripped"   // a rule was turned off
	GuardPaused   GuardDecisionKind = "paused"
	GuardResumed  GuardDecisionKind = "resumed"
)

// GuardDecision is one decision, with the figures and the reason that explain it.
type GuardDecision struct {
	Time     time.Time
	Kind     GuardDecisionKind
	Rule     string // "" if no rule is the cause
	GPU      int    // index, meaningful if GPUUUID is set
	GPUUUID  string
	Instance InstanceID
	Row      RowID // zero if the decision is about no process
	User     string
	Name     string // of the process, cleaned
	Level    string // of the flush: "gradual", "selective", "urgent", "sleep"
	Free     Bytes  // free memory on the GPU or instance at that time
	Goal     Bytes  // how much should be free
	Expected Bytes  // how much the flush should free
	Measured Bytes  // by how much the driver's figure fell; for came_back: how much came back
	Reason   string
	Message  string // the whole decision as a sentence
}

// Sentence returns the decision in one line.
func (d *GuardDecision) Sentence() string {
	s := ""
	pid := "PID " + strconv.Itoa(d.Row.Process.PID)
	switch d.Kind {
	case GuardActs:
		s = fmt.Sprintf("flushing %s (%s), %s expected", pid, d.Level, amount(d.Expected))
	case GuardWould:
		s = fmt.Sprintf("would flush %s (%s), %s expected", pid, d.Level, amount(d.Expected))
	case GuardFlushed:
		s = fmt.Sprintf("flushed %s (%s), %s freed of %s expected", pid, d.Level, amount(d.Measured), amount(d.Expected))
	case GuardRefused:
		s = fmt.Sprintf("could not flush %s (%s)", pid, d.Level)
	case GuardCameBack:
		return "memory of " + pid + ": " + d.Reason + d.ofRule()
	case GuardReached:
		return d.Reason + d.ofRule()
	case GuardTripped:
		return "turned off" + d.ofRule() + ": " + d.Reason
	case GuardNothing:
		s = "did nothing"
	case GuardPaused:
		s = "paused"
	case GuardResumed:
		s = "goes on"
	}
	if d.Reason != "" {
		s += ": " + d.Reason
	}
	return s + d.ofRule()
}

func amount(b Bytes) string {
	if v, ok := b.Value(); ok {
		return v.String()
	}
	return "an unknown amount"
}

// ofRule returns " [name]", or "" without a rule.
func (d *GuardDecision) ofRule() string {
	if d.Rule == "" {
		return ""
	}
	return " [" + d.Rule + "]"
}
