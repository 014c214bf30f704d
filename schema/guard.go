package schema

import (
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// GuardVersion is the schema of guard log and guard replay.
const GuardVersion = "vramscope/guard/1"

type Guard struct {
	Mode        string          `json:"mode"`
	Cannot      Text            `json:"cannot_act"`
	ByDaemon    bool            `json:"by_daemon"`
	PausedUntil Time            `json:"paused_until"`
	Rules       []GuardRule     `json:"rules"`
	Standings   []GuardStanding `json:"standings"`
	Decisions   []Decision      `json:"decisions"`
}

type GuardRule struct {
	Name  string `json:"name"`
	Off   Text   `json:"off"`
	Holds Time   `json:"holds_since"`
}

// Row identifies a process on a GPU or MIG instance.
type Row struct {
	PID             int     `json:"pid"`
	StartTimeTicks  uint64  `json:"start_time_ticks"`
	PIDNamespace    uint64  `json:"pid_namespace"`
	GPUUUID         string  `json:"gpu_uuid"`
	GPUInstance     *uint32 `json:"gpu_instance"`
	ComputeInstance *uint32 `json:"compute_instance"`
}

// GuardStanding is how the guard ranks a process, and why it does not flush the process now.
type GuardStanding struct {
	Process    Row            `json:"process"`
	Importance int            `json:"importance"`
	Order      int            `json:"order"` // 0: not flushed now
	Reason     Text           `json:"reason"`
	FreesBytes quantity.Bytes `json:"frees_bytes"`
	StaysBytes snapshot.Bytes `json:"stays_bytes"`
}

type Decision struct {
	Time          Time           `json:"time"`
	Kind          string         `json:"kind"`
	Rule          Text           `json:"rule"`
	GPU           *int           `json:"gpu"`
	Process       *Row           `json:"process"`
	User          Text           `json:"user"`
	Name          Text           `json:"name"`
	Level         Text           `json:"level"`
	FreeBytes     snapshot.Bytes `json:"free_bytes"`
	GoalBytes     snapshot.Bytes `json:"goal_bytes"`
	ExpectedBytes snapshot.Bytes `json:"expected_bytes"`
	MeasuredBytes snapshot.Bytes `json:"measured_bytes"`
	Reason        string         `json:"reason"`
	Message       string         `json:"message"`
}

// GuardDocument is what guard log and guard replay write.
type GuardDocument struct {
	Schema    string       `json:"schema"`
	Decisions []Decision   `json:"decisions"`
	Replay    *GuardReplay `json:"replay"` // null in guard log
}

// GuardReplay is what a policy would have done over a recording.
type GuardReplay struct {
	From            Time           `json:"from"`
	To              Time           `json:"to"`
	ObservedSeconds float64        `json:"observed_seconds"`
	Flushes         int            `json:"flushes"`
	FreedBytes      quantity.Bytes `json:"freed_bytes"`
	StayedBytes     quantity.Bytes `json:"stayed_bytes"` // the part of freed_bytes that was still free after a minute
	CameBack        int            `json:"came_back"`
	BelowWithout    int            `json:"times_below_without"`
	BelowWith       int            `json:"times_below_with"`
	SecondsWithout  float64        `json:"seconds_below_without"`
	SecondsWith     float64        `json:"seconds_below_with"`
	OutOfMemory     int            `json:"out_of_memory_events"`
}

// GuardOf converts a guard's state, or returns nil.
func GuardOf(g *snapshot.Guard) *Guard {
	if g == nil {
		return nil
	}
	return &Guard{
		Mode: string(g.Mode), Cannot: Text(g.Cannot), ByDaemon: g.ByDaemon, PausedUntil: Time(g.Paused),
		Rules:     List(g.Rules, func(r *snapshot.GuardRule) GuardRule { return GuardRule{r.Name, Text(r.Off), Time(r.Reached)} }),
		Decisions: DecisionsOf(g.Decisions),
		Standings: List(g.Standings, func(s *snapshot.GuardStanding) GuardStanding {
			return GuardStanding{RowOf(s.Row), s.Importance, s.Order, Text(s.Reason), s.Frees, s.Stays}
		}),
	}
}

// DecisionsOf converts decisions and keeps their order.
func DecisionsOf(decisions []snapshot.GuardDecision) []Decision { return List(decisions, decisionOf) }

func decisionOf(d *snapshot.GuardDecision) Decision {
	out := Decision{
		Time: Time(d.Time), Kind: string(d.Kind), Rule: Text(d.Rule), User: Text(d.User), Name: Text(d.Name), Level: Text(d.Level),
		FreeBytes: d.Free, GoalBytes: d.Goal, ExpectedBytes: d.Expected, MeasuredBytes: d.Measured, Reason: d.Reason, Message: d.Message,
	}
	if d.GPUUUID != "" {
		out.GPU = &d.GPU
	}
	if d.Row.Process.PID != 0 {
		out.Process = new(RowOf(d.Row))
	}
	return out
}

// RowOf converts the identity of a row.
func RowOf(id snapshot.RowID) Row {
	row := Row{PID: id.Process.PID, StartTimeTicks: id.Process.StartTime, PIDNamespace: id.Process.Namespace, GPUUUID: id.GPUUUID}
	if id.Instance.MIG {
		row.GPUInstance, row.ComputeInstance = &id.Instance.GPU, &id.Instance.Compute
	}
	return row
}

// mostGuarded limits the length of each list in a guard document from outside.
const mostGuarded = 4096

// Restore is the inverse of GuardOf. It cleans the texts, because a document may come from outside.
func (g *Guard) Restore() *snapshot.Guard {
	if g == nil {
		return nil
	}
	return &snapshot.Guard{
		Mode: snapshot.GuardMode(g.Mode), Cannot: text.Clean(string(g.Cannot)), ByDaemon: g.ByDaemon, Paused: time.Time(g.PausedUntil),
		Rules: List(g.Rules[:min(len(g.Rules), mostGuarded)], func(r *GuardRule) snapshot.GuardRule {
			return snapshot.GuardRule{Name: text.Clean(r.Name), Off: text.Clean(string(r.Off)), Reached: time.Time(r.Holds)}
		}),
		Standings: List(g.Standings[:min(len(g.Standings), mostGuarded)], func(s *GuardStanding) snapshot.GuardStanding {
			return snapshot.GuardStanding{
				Row: s.Process.RowID(), Importance: s.Importance, Order: max(s.Order, 0), Reason: text.Clean(string(s.Reason)),
				Frees: max(min(s.FreesBytes, mostBytes), 0), Stays: sane(s.StaysBytes, quantity.Computed),
			}
		}),
		Decisions: List(g.Decisions[:min(len(g.Decisions), mostGuarded)], (*Decision).restore),
	}
}

// RowID is the inverse of RowOf.
func (r *Row) RowID() snapshot.RowID {
	id := snapshot.RowID{Process: process.Identity{PID: r.PID, StartTime: r.StartTimeTicks, Namespace: r.PIDNamespace}, GPUUUID: r.GPUUUID}
	if r.GPUInstance != nil && r.ComputeInstance != nil {
		id.Instance = snapshot.InstanceID{MIG: true, GPU: *r.GPUInstance, Compute: *r.ComputeInstance}
	}
	return id
}

func (d *Decision) restore() snapshot.GuardDecision {
	out := snapshot.GuardDecision{
		Time: time.Time(d.Time), Kind: snapshot.GuardDecisionKind(d.Kind), Rule: text.Clean(string(d.Rule)), User: text.Clean(string(d.User)), Name: text.Clean(string(d.Name)),
		Level: text.Clean(string(d.Level)), Free: sane(d.FreeBytes, quantity.Driver), Goal: sane(d.GoalBytes, quantity.Computed),
		Expected: sane(d.ExpectedBytes, quantity.Probe), Measured: signed(d.MeasuredBytes), Reason: text.Clean(d.Reason), Message: text.Clean(d.Message),
	}
	if d.GPU != nil {
		out.GPU = *d.GPU
	}
	if d.Process != nil {
		out.Row = d.Process.RowID()
		out.GPUUUID, out.Instance = out.Row.GPUUUID, out.Row.Instance
	}
	return out
}
