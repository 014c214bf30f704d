package lease

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"vramscope/internal/quantity"
)

// course is a random sequence of steps on a box: jobs with and without leases, crashes and restarts.
type course struct {
	*testing.T
	*Ledger
	random *rand.Rand
	honest bool // no job takes more than it was promised, and none takes memory without a lease

	now     time.Time
	devices []Device
	others  []quantity.Bytes            // memory used without a lease, by device
	jobs    map[string][]quantity.Bytes // memory used by the processes of leases, by device
	ids     int

	journal []Lease // as the daemon has written it
	reading Reading
	before  map[Use]quantity.Bytes
}

func newCourse(t *testing.T, seed uint64) *course {
	random := rand.New(rand.NewPCG(seed, 38))
	c := &course{T: t, random: random, honest: seed%2 == 0, now: time.Unix(1_700_000_000, 0), jobs: map[string][]quantity.Bytes{}}
	for i := range 1 + random.IntN(3) {
		c.devices = append(c.devices, Device{UUID: "GPU-" + strconv.Itoa(i), Label: strconv.Itoa(i), Capacity: 80 * gib, Known: true, Exact: random.IntN(8) > 0})
	}
	c.others = make([]quantity.Bytes, len(c.devices))
	if !c.honest {
		c.others[0] = quantity.Bytes(random.IntN(60)) * gib
	}
	c.open()
	c.sample()
	return c
}

// open starts a daemon with the journal of the previous one.
func (c *course) open() {
	c.Ledger = &Ledger{Reserve: gib / 2, NewID: func() string { c.ids++; return "L" + strconv.Itoa(c.ids) }}
	var restored []*Lease
	for _, written := range c.journal { // the copies do not change the journal
		restored = append(restored, &written)
	}
	c.Restore(c.now, restored)
	c.reading, c.before = Reading{}, nil
	for i := range c.journal {
		if le := c.Lease(c.journal[i].ID); le == nil || le.State != c.journal[i].State || !slices.Equal(le.Devices, c.journal[i].Devices) {
			c.Fatalf("%+v is lost over a restart: %+v", c.journal[i], le)
		}
		if c.journal[i].State == Held || c.random.IntN(4) > 0 {
			c.Back(c.journal[i].ID, c.journal[i].UID)
		}
	}
}

// after writes changed leases into the journal, and checks them.
func (c *course) after() {
	c.Helper()
	granted := map[string]bool{}
	for _, le := range c.Changed() {
		at := slices.IndexFunc(c.journal, func(known Lease) bool { return known.ID == le.ID })
		if at < 0 {
			c.journal = append(c.journal, Lease{ID: le.ID})
			at = len(c.journal) - 1
		}
		if le.State == Held && c.journal[at].State != Held && le.Parent == "" {
			for _, d := range le.Devices {
				granted[d] = true
			}
		}
		if c.journal[at] = *le; le.State == Held && c.jobs[le.ID] == nil {
			c.jobs[le.ID] = make([]quantity.Bytes, len(c.devices))
		}
		if le.State == Ended {
			c.goOn(le)
			c.journal = slices.Delete(c.journal, at, at+1)
		}
	}
	if len(c.Leases()) != len(c.journal) {
		c.Fatalf("%d leases, %d are written down", len(c.Leases()), len(c.journal))
	}
	for i, d := range c.devices {
		promised, on, free := quantity.Bytes(0), 0, c.free(i)
		for _, le := range c.Leases() {
			if !slices.Contains(le.Devices, d.UUID) || le.Parent != "" {
				continue
			}
			on++
			promised += max(le.Need-c.uses(le, i), 0)
		}
		if c.honest && promised > free {
			c.Fatalf("%s has %s free, of which %s are promised", d.UUID, free, promised)
		}
		if granted[d.UUID] && !d.Exact && on > 1 {
			c.Fatalf("%s has %d leases, and use there is unknown", d.UUID, on)
		}
		if granted[d.UUID] {
			c.fits(i)
		}
	}
}

// goOn counts the memory of an ended lease's processes as its parent's, or as memory without a lease.
func (c *course) goOn(le *Lease) {
	whose := c.others
	if parent := c.jobs[le.Parent]; parent != nil {
		whose = parent
	}
	for i, used := range c.jobs[le.ID] {
		whose[i] += used
	}
	delete(c.jobs, le.ID)
}

// fits checks a granted device by the figures that the ledger had.
func (c *course) fits(i int) {
	c.Helper()
	uuid := c.devices[i].UUID
	left := c.reading.Devices[i].Free - gib/2
	for _, le := range c.Leases() {
		if slices.Contains(le.Devices, uuid) && le.Parent == "" {
			used := quantity.Bytes(0)
			for _, other := range c.family().all { // a released child counts for its parent
				for above := other; above != nil; above = c.Lease(above.Parent) {
					if above == le {
						used += min(c.reading.Used[Use{other.ID, uuid}], c.before[Use{other.ID, uuid}])
					}
				}
			}
			left -= max(le.Need-used, 0)
		}
	}
	if left < 0 {
		c.Fatalf("%s is overcommitted by %s", uuid, -left)
	}
}

// free returns the free memory of a device.
func (c *course) free(i int) quantity.Bytes {
	free := c.devices[i].Capacity - c.others[i]
	for _, used := range c.jobs {
		free -= used[i]
	}
	return free
}

// uses returns how much a lease's processes use, with those of leases that take from it.
func (c *course) uses(le *Lease, i int) quantity.Bytes {
	sum := quantity.Bytes(0)
	if used := c.jobs[le.ID]; used != nil {
		sum = used[i]
	}
	for _, child := range c.Leases() {
		if child.Parent == le.ID {
			sum += c.uses(child, i)
		}
	}
	return sum
}

func (c *course) sample() {
	r := Reading{At: c.now, Used: map[Use]quantity.Bytes{}}
	for i, d := range c.devices {
		d.Free = c.free(i)
		r.Devices = append(r.Devices, d)
		for id, used := range c.jobs {
			if le := c.Lease(id); le != nil && used[i] > 0 {
				r.Used[Use{id, d.UUID}] = 0
				if d.Exact {
					r.Used[Use{id, d.UUID}] = used[i]
				}
			}
		}
	}
	if c.before = c.reading.Used; c.before == nil {
		c.before = r.Used
	}
	c.reading = r
	c.Observe(r)
	c.now = c.now.Add(time.Millisecond)
	c.Advance(c.now)
	c.after()
}

// pick returns a random lease in a state, nil if there is none.
func (c *course) pick(state State) *Lease {
	all := slices.DeleteFunc(slices.Clone(c.Leases()), func(le *Lease) bool { return le.State != state })
	if len(all) == 0 {
		return nil
	}
	return all[c.random.IntN(len(all))]
}

// isParent reports whether leases in one of these states take from a lease.
func (c *course) isParent(le *Lease, states ...State) bool {
	return slices.ContainsFunc(c.Leases(), func(other *Lease) bool { return other.Parent == le.ID && slices.Contains(states, other.State) })
}

// exit ends a job and its lease.
func (c *course) exit(le *Lease) {
	if !c.isParent(le, Held) {
		delete(c.jobs, le.ID)
		c.End(le)
	}
}

// step does one random thing.
func (c *course) step() {
	c.now = c.now.Add(time.Duration(c.random.IntN(30_000)) * time.Millisecond)
	held := c.pick(Held)
	switch what := c.random.IntN(20); {
	case what < 6:
		claim := Claim{Need: quantity.Bytes(1+c.random.IntN(40)) * gib, Count: 1 + c.random.IntN(len(c.devices)), UID: uint32(c.random.IntN(2)), Importance: c.random.IntN(2001) - 1000}
		if c.random.IntN(2) == 0 {
			claim.Length = time.Duration(1+c.random.IntN(600)) * time.Second
		}
		if c.random.IntN(4) == 0 {
			claim.TTL = time.Duration(1+c.random.IntN(120)) * time.Second
		}
		if c.random.IntN(4) == 0 {
			claim.Among = []string{c.devices[c.random.IntN(len(c.devices))].UUID}
		}
		if held != nil && c.random.IntN(3) == 0 && slices.Max(c.jobs[held.ID]) == 0 {
			claim.Parent, claim.UID = held.ID, held.UID
		}
		refusal := c.Words
		if c.random.IntN(3) > 0 {
			refusal = nil
		}
		_, _ = c.Claim(c.now, claim, refusal) // a refusal is fine
	case what < 10 && held != nil && !c.isParent(held, Held, Waiting): // the job takes memory, or frees some
		most := held.Need
		if !c.honest && c.random.IntN(4) == 0 {
			most += 10 * gib
		}
		for i := range c.devices {
			if now := &c.jobs[held.ID][i]; slices.Contains(held.Devices, c.devices[i].UUID) {
				*now = min(quantity.Bytes(c.random.Int64N(int64(most)+1)), *now+c.free(i))
			}
		}
	case what < 12 && held != nil:
		c.exit(held)
	case what == 12 && held != nil && !c.isParent(held, Held): // its processes continue, and belong to the parent or to others
		c.Release(c.now, held, "released")
	case what == 13:
		if waiting := c.pick(Waiting); waiting != nil {
			c.Release(c.now, waiting, "left")
		}
	case what == 14 && held != nil:
		c.Renew(c.now, held, time.Minute)
	case what == 15:
		c.open()
	case what == 16 && !c.honest:
		i := c.random.IntN(len(c.devices))
		c.others[i] = min(quantity.Bytes(c.random.IntN(80))*gib, c.others[i]+c.free(i))
	default:
		c.sample()
		return
	}
	c.after()
}

// finish ends all jobs every ten minutes. Each claim must be granted in turn, even if two claims of the
// highest importance, for all memory, come each time: they pass the least important claim for two hours.
func (c *course) finish() {
	c.now = c.now.Add(awayTime + time.Second)
	old, stream := map[string]bool{}, c.random.IntN(2) == 0
	for _, le := range c.Leases() {
		old[le.ID] = true
	}
	for left := len(c.Leases()) + 4 + 2*6*2; ; left-- {
		clear(c.others) // the processes that continued without a lease end too
		if c.now = c.now.Add(10 * time.Minute); stream {
			for range 2 {
				_, _ = c.Claim(c.now, Claim{Need: 79 * gib, Count: len(c.devices), Importance: 1000}, nil) // a refusal is an answer
			}
			c.after()
		}
		c.sample()
		if !slices.ContainsFunc(c.Leases(), func(le *Lease) bool { return old[le.ID] }) {
			return
		}
		if left == 0 {
			c.Fatalf("starved: %+v", c.pick(Waiting))
		}
		for held := c.pick(Held); held != nil; held = c.pick(Held) {
			for _, le := range c.Leases() {
				if le.State == Held {
					c.exit(le)
				}
			}
		}
		c.after()
	}
}

// TestRandomSequences: nothing is overcommitted, no lease is lost, and no claim starves.
func TestRandomSequences(t *testing.T) {
	sequences := uint64(10_000)
	if testing.Short() {
		sequences = 500
	}
	for seed := range sequences {
		c := newCourse(t, seed)
		for range 60 {
			c.step()
			if t.Failed() {
				break
			}
		}
		if !t.Failed() {
			c.finish()
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestStreamOfSmallClaimsStarvesNobody: a large claim is granted although small claims come every second.
func TestStreamOfSmallClaimsStarvesNobody(t *testing.T) {
	for seed := range uint64(50) {
		random, b := rand.New(rand.NewPCG(seed, 1)), newBox(t, 2)
		until := map[*Lease]time.Time{}
		var large *Lease
		for second := range 2000 {
			le := b.claim(Claim{Need: quantity.Bytes(5+random.IntN(10)) * gib})
			until[le] = time.Time{}
			if second == 60 {
				large = b.claim(Claim{Need: 70 * gib, Count: 1 + random.IntN(2)})
			}
			for le, end := range until {
				switch {
				case le.State == Held && end.IsZero():
					until[le] = b.now.Add(time.Duration(20+random.IntN(40)) * time.Second)
					for _, d := range le.Devices {
						b.used[Use{le.ID, d}] = le.Need
					}
				case !end.IsZero() && b.now.After(end):
					for _, d := range le.Devices {
						delete(b.used, Use{le.ID, d})
					}
					b.End(le)
					delete(until, le)
				}
			}
			b.sample()
			if large != nil && large.State == Held {
				break
			}
		}
		if limit := gatherTime + 2*time.Minute; large.State != Held || large.Since.Sub(large.Asked) > limit {
			t.Fatalf("seed %d: 70G were %s after %s", seed, large.State, b.now.Sub(large.Asked))
		}
	}
}

// BenchmarkClaim measures a claim with about 500 leases and as many waiting claims on 8 GPUs.
func BenchmarkClaim(b *testing.B) {
	ids := 0
	l := &Ledger{NewID: func() string { ids++; return strconv.Itoa(ids) }}
	r := Reading{Used: map[Use]quantity.Bytes{}}
	for i := range 8 {
		r.Devices = append(r.Devices, Device{UUID: "GPU-" + strconv.Itoa(i), Capacity: 80 * gib, Free: 80 * gib, Known: true, Exact: true})
	}
	l.Observe(r)
	now := time.Unix(1, 0)
	for range 1000 {
		if _, err := l.Claim(now, Claim{Need: gib * 5 / 4, Count: 1, Length: time.Hour}, nil); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		le, err := l.Claim(now, Claim{Need: gib, Count: 1, Length: time.Hour}, nil)
		if err != nil {
			b.Fatal(err)
		}
		l.Release(now, le, "left")
		l.Changed()
		l.ending = nil
	}
}
