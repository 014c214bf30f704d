package runner

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"vramscope/guard"
	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

// mostRescues limits a user's rescues on a GPU in a minute: each takes a sample.
const mostRescues = 20

// askers identifies a user's processes on a GPU or instance. device is "" for a process on none.
type askers struct {
	device string
	user   uint32
}

// rescues are the rescues of some askers.
type rescues struct {
	underWay bool
	begun    []time.Time           // in the last minute
	refused  map[refusal]time.Time // when each refusal last made an event
}

// refusal is a process's refusal, without the figures in its reason.
type refusal struct {
	process process.Identity
	reason  string
}

// isOn reports whether a process that asks is on the GPU.
func isOn(snap *snapshot.Snapshot, ask *guard.Ask) bool {
	for p := range snap.ProcessRows(ask.Process) {
		if p.ID.GPUUUID == ask.GPUUUID {
			return true
		}
	}
	return false
}

// admit allows a user one rescue at a time on a GPU, and mostRescues in a minute.
func (r *Runner) admit(who askers, now time.Time) *guard.RescueError {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.rescues[who]
	if own == nil {
		own = &rescues{refused: make(map[refusal]time.Time)}
		r.rescues[who] = own
	}
	own.begun = slices.DeleteFunc(own.begun, func(then time.Time) bool { return now.Sub(then) >= time.Minute })
	switch {
	case own.underWay:
		return &guard.RescueError{Code: guard.RescueBusy, Reason: "another rescue of this user is under way on this GPU"}
	case len(own.begun) >= mostRescues:
		return &guard.RescueError{Code: guard.RescueLimit, Reason: "the limit of " + strconv.Itoa(mostRescues) + " rescues of a user a minute on a GPU is reached"}
	}
	own.underWay = true
	own.begun = append(own.begun, now)
	return nil
}

func (r *Runner) release(who askers) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rescues[who].underWay = false
}

// isNews reports whether a refusal makes an event: a repeated refusal does so once a minute.
func (r *Runner) isNews(who askers, this refusal, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	refused := r.rescues[who].refused
	maps.DeleteFunc(refused, func(_ refusal, then time.Time) bool { return now.Sub(then) >= time.Minute })
	if _, known := refused[this]; known {
		return false
	}
	refused[this] = now
	return true
}
