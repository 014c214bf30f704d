package sampler

import (
	"errors"
	"time"

	"vramscope/internal/panics"
	"vramscope/nvml"
	"vramscope/sampler/snapshot"
)

// gpu is one GPU and the state of its readings, owned by the ticking goroutine.
type gpu struct {
	device nvml.Device
	listed bool // the driver lists the GPU
	met    bool // its processes have been listed before this tick

	busy  bool      // a Read is in progress
	asked time.Time // when the last Read was started
	late  bool      // its newest answer missed its tick, or is still missing; ticks do not wait for this GPU

	fresh *nvml.Reading // this tick's reading, nil if there is none
	err   error         // this tick's failure

	state        snapshot.GPUState
	since        time.Time
	message      string
	retryAt      time.Time
	backoff      backoff
	wantsRestart bool // the library should be opened again for this GPU
	restarted    bool // the library was opened since the last Read that failed

	last      *nvml.Reading // the newest reading of any tick
	idleSince time.Time
	held      *snapshot.JobAllocation // the job that has this GPU, while no process is on it
	xids      []snapshot.XID
	expected  expected
	instances map[snapshot.InstanceID]*expected // its MIG instances
}

type gpuResult struct {
	gpu     *gpu
	asked   time.Time
	reading *nvml.Reading
	err     error
	panic   *panics.Caught
}

// ask notes the start of a Read and returns true, unless a Read is in progress, the next try is not
// due, or the driver does not list the GPU.
func (g *gpu) ask(now time.Time) bool {
	if g.busy || !g.listed || now.Before(g.retryAt) {
		return false
	}
	g.busy, g.asked = true, now
	return true
}

// take takes an answer and reports whether this tick waits for it.
func (g *gpu) take(now time.Time, r gpuResult) bool {
	r.panic.Again()
	g.busy = false
	inTime := r.asked.Equal(now)
	expected := inTime && !g.late
	g.late = !inTime
	if r.err != nil {
		g.err, g.fresh = r.err, nil
		// A GPU that falls off the bus may report an Xid with its last answer.
		g.noteXIDs(now, r.reading.XIDs)
	} else {
		g.err, g.fresh = nil, r.reading
	}
	return expected
}

// conclude sets the GPU's state at the end of a tick. The driver's last Open was started at openedAt.
func (g *gpu) conclude(now time.Time, driver access, openedAt time.Time) {
	switch {
	case g.fresh != nil:
		g.last = g.fresh
		g.backoff = backoff{}
		g.become(now, snapshot.GPUOK, "")
		g.noteIdle(now)
		g.noteXIDs(now, g.fresh.XIDs)
	case g.err != nil:
		state := snapshot.GPUError
		if errors.Is(g.err, nvml.ErrGPULost) {
			state = snapshot.GPULost
		}
		g.become(now, state, driverWord(g.err))
		g.retryAt = now.Add(g.backoff.next())
		// After a reset, the library sees the GPU only when the library is opened again.
		g.wantsRestart = state == snapshot.GPULost && g.backoff.tries > 1 && !g.restarted
		g.restarted = false
	case g.busy && !g.asked.Equal(now) || g.busy && !g.late:
		g.late = true
		g.become(now, snapshot.GPUHanging, noAnswerSince(g.asked))
	case driver == opening:
		// No Read was started, so the state stays.
	case driver == openHangs:
		g.become(now, snapshot.GPUHanging, noAnswerSince(openedAt))
	case driver == away:
		g.become(now, snapshot.GPULost, "no driver")
	case !g.listed:
		g.become(now, snapshot.GPULost, snapshot.NotListed)
		if !now.Before(g.retryAt) {
			g.retryAt = now.Add(g.backoff.next())
			g.wantsRestart = true
		}
	}
}

func noAnswerSince(t time.Time) string { return "no answer since " + t.Format("15:04:05") }

// lists reports whether this tick has read the GPU's processes.
func (g *gpu) lists() bool { return g.fresh != nil && g.fresh.ProcessesError == nil }

func (g *gpu) become(now time.Time, state snapshot.GPUState, message string) {
	if g.state != state {
		g.since = now
	}
	g.state, g.message = state, message
}

// noteIdle remembers since when the GPU has been idle with processes and used memory.
func (g *gpu) noteIdle(now time.Time) {
	used, known := g.fresh.Memory.Used.Value()
	busy, measured := g.fresh.Utilization.Value()
	switch {
	case !known || !measured || busy > 0 || used == 0 || len(g.fresh.Processes) == 0:
		g.idleSince = time.Time{}
	case g.idleSince.IsZero():
		g.idleSince = now
	}
}

// noteXIDs keeps the newest critical errors of the last hour, newest first.
func (g *gpu) noteXIDs(now time.Time, fresh []nvml.XID) {
	const keep, limit = time.Hour, 32
	if len(fresh) == 0 && (len(g.xids) == 0 || now.Sub(g.xids[len(g.xids)-1].Time) < keep) {
		return
	}
	var kept []snapshot.XID // a new slice: the old one has been published
	for i := len(fresh) - 1; i >= 0; i-- {
		kept = append(kept, snapshot.XID{Code: fresh[i].Code, Time: fresh[i].Time})
	}
	for _, x := range g.xids {
		if now.Sub(x.Time) < keep && len(kept) < limit {
			kept = append(kept, x)
		}
	}
	g.xids = kept
}
