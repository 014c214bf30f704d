package bed

import (
	"time"

	"vramscope/guard"
	"vramscope/internal/guardlab/story"
	"vramscope/internal/guardlab/world"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
)

// Latency is the time from a sample to the resulting flush: for the decision, for the probe's
// socket, and for the probe's thread, which waits for the GIL.
const Latency = 100 * time.Millisecond

// Result is the result of a story under a policy.
type Result struct {
	world.Result
	Tripped int // rules that the circuit breaker turned off
	Asked   int // rescues
	Rescued int // rescues after which there was room
}

// Play plays a story with the parameters of a seed.
func Play(s story.Story, seed uint64, p Policy, cost world.Cost, length time.Duration) Result {
	w := s.Draw(seed).World(seed, cost)
	if !p.guards() {
		w.Run(length, nil)
		return Result{Result: w.Result()}
	}
	b := &bed{
		world: w, sampler: w.NewSampler(), clients: make(map[process.Identity]*client),
		engine: guard.New(p.configuration(w.Jobs), guard.Owner{Root: true}),
	}
	if p.Rescue {
		w.Rescue = b.rescue
	}
	w.Run(length, b.tick)
	b.result.Result = w.Result()
	return b.result
}

type bed struct {
	world   *world.World
	sampler *sampler.Sampler
	engine  *guard.Engine
	clients map[process.Identity]*client
	result  Result
}

func (b *bed) tick() {
	decisions := b.engine.Decide(b.sampler.Tick(b.world.Time()))
	for _, d := range decisions {
		if d.Kind == snapshot.GuardActs {
			b.world.After(Latency, func() { b.flush(d) })
		}
	}
}

// flush carries a decision out.
func (b *bed) flush(d guard.Decision) (freed quantity.Bytes) {
	outcome := guard.Outcome{Time: b.world.Time(), Refused: "the process has ended"}
	if j := b.job(d.Row.Process); j != nil {
		freed = j.Flush()
		outcome.Freed, outcome.Driver, outcome.Refused = freed, quantity.From(freed, quantity.Driver), ""
	}
	for _, after := range b.engine.Finished(d, outcome) {
		if after.Kind == snapshot.GuardTripped {
			b.result.Tripped++
		}
	}
	return freed
}

func (b *bed) job(id process.Identity) *world.Job {
	for _, j := range b.world.Jobs {
		if j.Running() && j.Identity() == id {
			return j
		}
	}
	return nil
}

// The limits of probe/preload/shim/rescue.c.
const (
	mostRescues = 10          // per minute
	backOff     = time.Minute // after a rescue that freed nothing
)

// client holds the state of a process's rescues.
type client struct {
	begun []time.Duration // when the rescues of the last minute began
	until time.Duration   // no rescue before this time
}

// rescue implements World.Rescue. The asker waits for each flush in turn.
func (b *bed) rescue(asker *world.Job, size quantity.Bytes) time.Duration {
	now, c := b.world.Now(), b.clients[asker.Identity()]
	if c == nil {
		c = &client{}
		b.clients[asker.Identity()] = c
	}
	for len(c.begun) > 0 && now-c.begun[0] >= time.Minute {
		c.begun = c.begun[1:]
	}
	if now < c.until || len(c.begun) >= mostRescues {
		return 0
	}
	c.begun = append(c.begun, now)
	b.result.Asked++
	waited := Latency
	snap := b.sampler.Tick(b.world.Time())
	var freed quantity.Bytes
	var gives []guard.Decision
	if !b.engine.UnderWay(world.UUID) { // no rescue flushes while another flush is under way
		gives = b.engine.Rescue(snap, guard.Ask{Process: asker.Identity(), UID: world.UID, GPUUUID: world.UUID, Bytes: size})
	}
	for _, give := range gives {
		if give.Kind == snapshot.GuardActs {
			freed += b.flush(give)
			waited += b.world.Cost.Sync
		}
	}
	if b.world.Used()+size <= b.world.Capacity() {
		b.result.Rescued++
	}
	if freed == 0 {
		c.until = now + backOff
	}
	return waited
}
