package guard

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// serving returns a watched server with these requests, and a training with a cache.
func serving(requests int) (server, training *row) {
	server = &row{command: "VLLM::EngineCore", allocated: 60 * gib, probe: &snapshot.Probe{State: snapshot.ProbeSilent}, served: &snapshot.Served{
		Process: process.Identity{PID: 90}, Name: "vLLM", Command: "vllm serve m", Requests: quantity.From(requests, quantity.Probe),
	}}
	return server, &row{command: "train.py", allocated: 12 * gib, cached: 3 * gib}
}

func sleeps(mode Mode, whom ...string) Policy {
	p := rooms(mode)
	p.Rules[0].Sleep, p.Rules[0].Steps = whom, append(Steps(), Sleep)
	return p
}

// TestServersArePutToSleepLast: a server is put to sleep once, after the caches were flushed.
func TestServersArePutToSleepLast(t *testing.T) {
	server, training := serving(0)
	b := newBox(server, training)
	all := b.run(New(sleeps(Act, "vllm serve*"), alice), 200, nil)
	acts := of(all, snapshot.GuardActs)
	if pids(acts) != "101 100 " || acts[len(acts)-1].Level != "sleep" || acts[len(acts)-1].Expected.Or(0) != 60*gib {
		t.Errorf("it acts on %s: %+v", pids(acts), acts)
	}
	if reached := of(all, snapshot.GuardReached); len(reached) != 1 || server.allocated > 0 {
		t.Errorf("%+v", reached)
	}
	server, training = serving(0)
	would := of(newBox(server, training).run(New(sleeps(DryRun, "vllm serve*"), alice), 100, nil), snapshot.GuardWould)
	if len(would) == 0 || !strings.Contains(would[len(would)-1].Message, "would flush PID 100 (sleep), 60.0G expected") || !strings.Contains(would[len(would)-1].Message, "vLLM has no requests [room]") {
		t.Errorf("%+v", would)
	}
}

// TestServersSayThatTheyArePutToSleep: a server is said to be put to sleep only if no flush frees memory of it.
func TestServersSayThatTheyArePutToSleep(t *testing.T) {
	for cached, want := range map[quantity.Bytes]string{0: "its server is put to sleep where flushes are not enough", 3 * gib: ""} {
		server, _ := serving(0)
		server.allocated, server.cached, server.probe = 20*gib, cached, nil
		e := New(sleeps(Act, "vllm*"), alice)
		newBox(server).run(e, 60, nil)
		if got := e.State().Standings[0].Reason; got != want {
			t.Errorf("%s cached: %q", cached, got)
		}
	}
}

// TestServersAreLeftAwake: a server is left awake if it is or may be busy, is protected, is another
// user's or is not named.
func TestServersAreLeftAwake(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*row)
		policy Policy
		why    string
	}{
		"busy":      {func(r *row) { r.served.Requests = quantity.From(2, quantity.Probe) }, sleeps(Act, "*"), "PID 100: its server is busy"},
		"silent":    {func(r *row) { r.served.Requests = snapshot.Int{} }, sleeps(Act, "*"), "PID 100: its server does not say whether it is busy"},
		"refused":   {func(r *row) { r.served.Refused = "reports 512G, the driver 60.0G" }, sleeps(Act, "*"), "does not say"},
		"asleep":    {func(r *row) { r.served.Asleep = quantity.From(true, quantity.Probe) }, sleeps(Act, "*"), "PID 100: its server sleeps"},
		"not named": {nil, sleeps(Act, "ollama*"), "the rule puts no such server to sleep"},
		"unwatched": {func(r *row) { r.served = nil }, sleeps(Act, "*"), "the probe of PID 100 gives no valid answer"},
		"another's": {func(r *row) { r.user, r.uid = "bob", 1001 }, sleeps(Act, "*"), "PID 100: another user's process"},
		"no step":   {nil, rooms(Act), "the probe of PID 100 gives no valid answer"},
		"protected": {nil, Policy{Mode: Act, Rules: sleeps(Act, "*").Rules, Importance: []Importance{{Command: "VLLM*", Protect: true}}}, "protected by the configuration"},
	} {
		server, training := serving(0)
		if c.change != nil {
			c.change(server)
		}
		all := newBox(server, training).run(New(c.policy, alice), 100, nil)
		if strings.Contains(pids(of(all, snapshot.GuardActs)), "100") {
			t.Errorf("%s: it is put to sleep: %+v", name, of(all, snapshot.GuardActs))
		}
		nothing := of(all, snapshot.GuardNothing)
		if len(nothing) == 0 || !strings.Contains(nothing[len(nothing)-1].Reason, c.why) {
			t.Errorf("%s: %+v", name, nothing)
		}
	}
}

// TestSleepsThatFailBackOff: after a first failure the guard waits for a minute, after a second for
// five. Three failures in a row turn the rule off.
func TestSleepsThatFailBackOff(t *testing.T) {
	server, training := serving(0)
	b, e := newBox(server, training), New(sleeps(Act, "vllm*"), alice)
	var at []int
	for second := range 3600 {
		for _, d := range e.Decide(b.snapshot()) {
			switch {
			case d.Kind == snapshot.GuardActs && d.Level == "sleep":
				at = append(at, second)
				e.Finished(d, Outcome{Time: b.now, Reason: "it answered, and in 1m0s the driver's figure has not fallen"})
			case d.Kind == snapshot.GuardActs:
				e.Finished(d, b.flush(d))
			}
		}
	}
	if len(at) != 3 || at[1]-at[0] < 60 || at[2]-at[1] < 300 || e.State().Rules[0].Off == "" {
		t.Errorf("it was asked at %v, %+v", at, e.State().Rules)
	}
}

// TestServersOfSeveralProcessesAreAskedOnce: a server of several processes is asked once. It is not
// asked again while a release is under way, after the release, or in a dry run.
func TestServersOfSeveralProcessesAreAskedOnce(t *testing.T) {
	for _, mode := range []Mode{Act, DryRun} {
		one, _ := serving(0)
		one.allocated, one.served.Releases = 38*gib, known(5*gib)
		other := *one
		b, e := newBox(one, &other), New(sleeps(mode, "vllm*"), alice)
		var asked []Decision
		for second := range 50 {
			for _, d := range e.Decide(b.snapshot()) {
				if d.Kind == snapshot.GuardActs || d.Kind == snapshot.GuardWould {
					asked = append(asked, d)
				}
			}
			if len(asked) > 0 && mode == Act && second == 40 { // the server's own figure is still an old one
				e.Finished(asked[0], Outcome{Time: b.now, Freed: 5 * gib, Driver: known(5 * gib)})
			}
		}
		if len(asked) != 1 || asked[0].Level != "sleep" {
			t.Errorf("%v: %+v", mode, asked)
		}
	}
}

// TestServersSleepForADemand: a server sleeps for an important program whose allocation failed, if no
// flush of caches frees enough. It does not sleep only for the rule's goal.
func TestServersSleepForADemand(t *testing.T) {
	for allocated, want := range map[quantity.Bytes]string{2 * gib: "100 ", 12 * gib: ""} {
		server, _ := serving(0)
		training := &row{command: "train.py", allocated: allocated}
		b := newBox(server, training)
		p := sleeps(Act, "vllm*")
		p.Rules[0].When, p.Importance = When{Demand: true}, []Importance{{Command: "train.py", Value: 500}}
		all := b.run(New(p, alice), 60, func(second int) {
			if second == 30 && want != "" {
				b.fails(training, known(30*gib))
			}
		})
		if acts := of(all, snapshot.GuardActs); pids(acts) != want || want != "" && acts[0].Level != "sleep" {
			t.Errorf("%+v", all)
		}
	}
}

// TestServerIsWorthWhatItReleases: a server is put to sleep for the least that is worth a flush. A flush
// of its own cache frees the cache only.
func TestServerIsWorthWhatItReleases(t *testing.T) {
	worth := minFlushOn(80 * gib)
	for releases, want := range map[quantity.Bytes]string{worth: "gradual 3.00G sleep 410M ", worth - 1: "gradual 3.00G "} {
		server, training := serving(0)
		server.cached, server.probe, server.served.Releases, training.cached = 3*gib, nil, known(releases), 0
		did := ""
		for _, d := range of(newBox(server, training).run(New(sleeps(Act, "vllm*"), alice), 200, nil), snapshot.GuardActs) {
			did += d.Level + " " + d.Expected.Or(0).String() + " "
		}
		if did != want {
			t.Errorf("it releases %d bytes: %s", releases, did)
		}
	}
}

// TestServersSleepForALease: a server sleeps only for the first claim that waits, and only if the released
// memory is enough for the claim.
func TestServersSleepForALease(t *testing.T) {
	rule := sleeps(Act, "vllm*").Rules[0]
	rule.When, rule.Goal, rule.Steps = When{Lease: true}, Amount{}, []Level{Sleep}
	if key, err := rule.Check(); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	for name, c := range map[string]struct {
		wants      quantity.Bytes
		devices    int
		requests   int
		importance int
		asks       bool
	}{
		"enough": {wants: 60 * gib, devices: 1, asks: true}, "no claim waits": {}, "it is free": {wants: 4 * gib, devices: 1},
		"more than it has": {wants: 67 * gib, devices: 1} /* the rest would need flushes, which are no step of the rule */, "on two GPUs": {wants: 60 * gib, devices: 2},
		"busy": {wants: 60 * gib, devices: 1, requests: 1}, "important": {wants: 60 * gib, devices: 1, importance: 1},
	} {
		server, training := serving(c.requests)
		b := newBox(server, training)
		e := New(Policy{Mode: Act, Rules: []Rule{rule}, Importance: []Importance{{Command: "VLLM*", Value: c.importance}}}, alice)
		all := b.run(e, 120, func(int) {
			if e.Want(map[string]quantity.Bytes{uuid: c.wants}, c.devices); server.allocated == 0 {
				e.Want(nil, 0) // the claim was granted
			}
		})
		acts := of(all, snapshot.GuardActs)
		if (len(acts) == 1) != c.asks || len(acts) > 1 || c.asks && (len(of(all, snapshot.GuardReached)) != 1 || !strings.Contains(acts[0].Reason, "5.00G free, 60.0G would have to be for a lease that waits")) {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

// TestLeasesAreServedOneGPUAtATime: the server on the GPU that lacks least sleeps first. The next one
// sleeps only after a release that did not help.
func TestLeasesAreServedOneGPUAtATime(t *testing.T) {
	rule := sleeps(Act, "vllm*").Rules[0]
	rule.When, rule.Goal, rule.Steps = When{Lease: true}, Amount{}, []Level{Sleep}
	server, training := serving(0)
	b, e := newBox(server, training), New(Policy{Mode: Act, Rules: []Rule{rule}}, alice)
	var acts []Decision
	for range 60 {
		snap := b.snapshot()
		other, its := snap.GPUs[0], snap.Rows[0]
		other.UUID, its.ID = "GPU-2", snapshot.RowID{Process: process.Identity{PID: 200, StartTime: 1, Namespace: 1}, GPUUUID: "GPU-2"}
		served := *its.Served
		served.Process.PID, its.Served = 91, &served
		snap.GPUs, snap.Rows = append(snap.GPUs, other), append(snap.Rows, its)
		e.Want(map[string]quantity.Bytes{uuid: 60 * gib, "GPU-2": 50 * gib}, 1)
		for _, d := range e.Decide(snap) {
			if d.Kind != snapshot.GuardActs {
				continue
			}
			if acts = append(acts, d); len(acts) == 1 {
				continue // the release is under way
			}
			e.Finished(d, b.flush(d))
		}
		if len(acts) == 1 && e.now.Sub(acts[0].Time) == 20*time.Second {
			e.Finished(acts[0], Outcome{Time: e.now, Reason: "nothing freed"})
		}
	}
	if len(acts) != 2 || acts[0].GPUUUID != "GPU-2" || acts[1].GPUUUID != uuid || acts[1].Time.Sub(acts[0].Time) != 20*time.Second+settleTime {
		t.Errorf("%+v", acts)
	}
}

// TestLeaseIsServedWhereTheLeastIsMissing: of two GPUs that have no room for a claim, caches are flushed
// on the one that lacks less.
func TestLeaseIsServedWhereTheLeastIsMissing(t *testing.T) {
	for _, c := range []struct {
		free, wants [2]quantity.Bytes // in GiB, by GPU
		want        string
	}{
		{[2]quantity.Bytes{10, 30}, [2]quantity.Bytes{30, 45}, "101 "}, {[2]quantity.Bytes{30, 10}, [2]quantity.Bytes{45, 30}, "100 "},
		{[2]quantity.Bytes{30, 10}, [2]quantity.Bytes{30, 30}, "101 "}, {[2]quantity.Bytes{30, 10}, [2]quantity.Bytes{0, 30}, "101 "},
	} {
		b := newBox(&row{cached: 40 * gib}, &row{cached: 40 * gib})
		e, flushed := New(Policy{Mode: Act, Rules: []Rule{{Name: "leases", When: When{Lease: true}}}}, alice), ""
		for range 60 {
			snap := b.snapshot()
			snap.GPUs = append(snap.GPUs, snap.GPUs[0])
			snap.GPUs[1].UUID, snap.Rows[1].ID.GPUUUID = "GPU-9", "GPU-9"
			for i := range snap.GPUs {
				snap.GPUs[i].Memory.Free = known(c.free[i] * gib)
			}
			e.Want(map[string]quantity.Bytes{uuid: c.wants[0] * gib, "GPU-9": c.wants[1] * gib}, 1)
			if flushed += pids(of(e.Decide(snap), snapshot.GuardActs)); flushed != "" {
				break
			}
		}
		if flushed != c.want {
			t.Errorf("%+v: %q", c, flushed)
		}
	}
}

// TestCachesAreFlushedForALease: caches are flushed only if those that the rule may flush are
// enough for the lease.
func TestCachesAreFlushedForALease(t *testing.T) {
	for name, c := range map[string]struct {
		wants  quantity.Bytes
		change func(other *row)
		want   string
	}{
		"one is enough": {wants: 40 * gib, want: "100 "}, "both are": {wants: 60 * gib, want: "100 101 "}, "both are not": {wants: 60*gib + 1},
		"another user's": {60 * gib, func(r *row) { r.user, r.uid = "bob", 1001 }, ""}, "no probe": {60 * gib, func(r *row) { r.probe = &snapshot.Probe{State: snapshot.ProbeSilent} }, ""},
	} {
		one, other := &row{command: "one.py", allocated: 10 * gib, cached: 20 * gib}, &row{command: "other.py", allocated: 10 * gib, cached: 20 * gib}
		b := newBox(one, other)
		if c.change != nil {
			c.change(other)
		}
		e := New(Policy{Mode: Act, Rules: []Rule{{Name: "leases", When: When{Lease: true}, Steps: Steps()}}}, alice)
		acts := of(b.run(e, 60, func(int) { e.Want(map[string]quantity.Bytes{uuid: c.wants}, 1) }), snapshot.GuardActs)
		if pids(acts) != c.want {
			t.Errorf("%s: it flushes %q, want %q", name, pids(acts), c.want)
		}
	}
}

func TestSleepIsNamed(t *testing.T) {
	for _, steps := range [][]Level{{Sleep}, {Urgent}} {
		r := sleeps(Act, "vllm*").Rules[0]
		if r.Steps = steps; steps[0] == Sleep {
			r.Sleep = nil
		}
		if key, err := r.Check(); key != "sleep" || err == nil {
			t.Errorf("%v: %s, %v", steps, key, err)
		}
	}
	r := sleeps(Act, "vllm*").Rules[0]
	if key, err := r.Check(); err != nil {
		t.Errorf("%s: %v", key, err)
	}
}
