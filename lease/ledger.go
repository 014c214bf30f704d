package lease

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"vramscope/internal/quantity"
)

const (
	// gatherTime is how long a waiting claim keeps only the devices that are nearest to it. Then it keeps
	// all that it could use, because smaller claims could otherwise take them forever.
	gatherTime = 5 * time.Minute
	// awayTime is how long a restored claim keeps its place until its client connects again.
	awayTime = 30 * time.Second
	// wantedAfter is how long a claim waits before the guard frees memory for it.
	wantedAfter = 6 * time.Second
)

// Ledger holds all leases and claims of a box. Only one goroutine at a time may use it.
type Ledger struct {
	Reserve quantity.Bytes // kept free on each device, for contexts
	NewID   func() string

	reading Reading
	before  map[Use]quantity.Bytes // uses in the previous reading
	at      map[string]int         // the index of each device in the reading, by UUID
	held    []*Lease
	queue   []*Lease // by turn
	ending  []ending
	changed []*Lease
}

// ending is a released lease. It counts until a reading that began after the release.
type ending struct {
	*Lease
	at time.Time
}

// Restore puts back the leases and claims from a daemon's journal.
func (l *Ledger) Restore(now time.Time, leases []*Lease) {
	for _, le := range leases {
		if le.State == Held {
			l.held = append(l.held, le)
		} else {
			le.away = now
			l.queue = append(l.queue, le)
		}
	}
}

// Leases returns the held leases, and then the waiting claims in their order.
func (l *Ledger) Leases() []*Lease { return slices.Concat(l.held, l.queue) }

// Changed returns the leases that have changed since the last call.
func (l *Ledger) Changed() []*Lease {
	changed := l.changed
	l.changed = nil
	return changed
}

func (l *Ledger) change(le *Lease) {
	if !slices.Contains(l.changed, le) {
		l.changed = append(l.changed, le)
	}
}

// Lease returns a held lease or a waiting claim, or nil.
func (l *Ledger) Lease(id string) *Lease {
	if id == "" {
		return nil
	}
	for _, le := range l.Leases() {
		if le.ID == id {
			return le
		}
	}
	return nil
}

// Claim grants a claim at once, lets it wait, or returns a *Refusal. refusal is nil for a claim that may
// wait. Otherwise Claim asks refusal for the reason why a claim that would have to wait is refused.
func (l *Ledger) Claim(now time.Time, c Claim, refusal func(*Lease) string) (*Lease, error) {
	l.expire(now)
	if parent := l.Lease(c.Parent); parent == nil || parent.State != Held || parent.UID != c.UID {
		c.Parent = ""
	}
	le := &Lease{ID: l.NewID(), Claim: c, State: Waiting, Asked: now}
	if len(l.reading.Devices) > 0 && len(l.set(le)) < c.Count {
		return nil, &Refusal{Never: true, Reason: l.whyNever(le)}
	}
	l.queue = append(l.queue, le)
	slices.SortStableFunc(l.queue, func(a, b *Lease) int { return a.turn().Compare(b.turn()) })
	l.serve(now)
	if le.State == Waiting && refusal != nil {
		reason := refusal(le)
		l.queue = slices.DeleteFunc(l.queue, func(other *Lease) bool { return other == le })
		return nil, &Refusal{Reason: reason}
	}
	if le.State == Waiting {
		l.change(le)
	}
	return le, nil
}

// whyNever returns why waiting cannot help a claim.
func (l *Ledger) whyNever(le *Lease) string {
	if parent := l.Lease(le.Parent); parent != nil {
		return fmt.Sprintf("%dx%s do not fit into lease %s, which has %dx%s", le.Count, le.Need, parent.ID, parent.Count, parent.Need)
	}
	largest, visible := quantity.Bytes(0), 0
	for i := range l.reading.Devices {
		if d := &l.reading.Devices[i]; le.Among == nil || slices.Contains(le.Among, d.UUID) {
			visible++
			largest = max(largest, d.Capacity-l.Reserve)
		}
	}
	if visible < le.Count {
		return fmt.Sprintf("needs %d GPUs, and there are %d", le.Count, visible)
	}
	return fmt.Sprintf("too few GPUs have %s for jobs: the largest has %s", le.Need, max(largest, 0))
}

// Back returns a claim or lease of this user after its client has connected again, or nil.
func (l *Ledger) Back(id string, uid uint32) *Lease {
	le := l.Lease(id)
	if le == nil || le.UID != uid {
		return nil
	}
	le.away = time.Time{}
	return le
}

// Observe makes r the newest reading.
func (l *Ledger) Observe(r Reading) {
	if l.before = l.reading.Used; l.before == nil {
		l.before = r.Used
	}
	l.reading = r
	l.at = make(map[string]int, len(r.Devices))
	for i := range r.Devices {
		l.at[r.Devices[i].UUID] = i
	}
	l.ending = slices.DeleteFunc(l.ending, func(e ending) bool { return r.At.After(e.at) })
	for _, le := range l.held {
		for _, d := range le.Devices {
			if _, there := r.Used[Use{le.ID, d}]; there && !le.Seen {
				le.Seen = true
				l.change(le)
			}
		}
	}
}

// Renew makes a lease expire at ttl from now.
func (l *Ledger) Renew(now time.Time, le *Lease, ttl time.Duration) {
	le.TTL, le.Expires = ttl, now.Add(ttl)
	l.change(le)
}

// Release ends a lease, or a wait. Its processes may continue.
func (l *Ledger) Release(now time.Time, le *Lease, why string) {
	if le.State == Held {
		l.ending = append(l.ending, ending{le, now})
	}
	l.end(le, why)
}

// End ends a lease whose processes have all ended. Unlike a released lease, it stops counting at once.
func (l *Ledger) End(le *Lease) { l.end(le, "its last process has ended") }

func (l *Ledger) end(le *Lease, why string) {
	gone := func(other *Lease) bool { return other == le }
	l.held, l.queue = slices.DeleteFunc(l.held, gone), slices.DeleteFunc(l.queue, gone)
	le.State, le.Why = Ended, why
	l.change(le)
	for _, other := range l.Leases() {
		if other.Parent == le.ID {
			other.Parent = le.Parent
			l.change(other)
		}
	}
}

// Advance ends expired leases and claims, and grants the claims that fit.
func (l *Ledger) Advance(now time.Time) {
	l.expire(now)
	l.serve(now)
}

func (l *Ledger) expire(now time.Time) {
	for _, le := range l.Leases() {
		switch {
		case le.State == Held && !le.Seen && !le.Expires.IsZero() && !now.Before(le.Expires):
			l.Release(now, le, "its TTL is over, and nothing has used it")
		case le.State == Waiting && !le.away.IsZero() && now.Sub(le.away) > awayTime:
			l.end(le, "no client waits for it")
		}
	}
}

func (l *Ledger) serve(now time.Time) {
	if len(l.reading.Devices) == 0 {
		return
	}
	backfill := slices.ContainsFunc(l.queue, func(le *Lease) bool { return le.Length > 0 })
	shares := map[string]*share{} // by parent
	for _, le := range slices.Clone(l.queue) {
		from := shares[le.Parent]
		if from == nil {
			n := len(l.reading.Devices)
			from = &share{room: l.rooms(le.Parent), kept: make([]bool, n), until: make([]time.Time, n)}
			if backfill {
				from.ends = l.ends(now, le.Parent)
			}
			shares[le.Parent] = from
		}
		set := l.set(le)
		if len(set) < le.Count { // the claim came before the first reading, or the GPUs have changed
			l.end(le, l.whyNever(le))
			continue
		}
		if chosen := from.choose(le, now, set); chosen != nil && le.away.IsZero() {
			l.grant(now, le, chosen, from.room)
			continue
		}
		from.keep(le, now, set)
	}
}

func (l *Ledger) grant(now time.Time, le *Lease, chosen []int, room []quantity.Bytes) {
	for _, d := range chosen {
		le.Devices = append(le.Devices, l.reading.Devices[d].UUID)
		room[d] -= le.Need
		if !l.reading.Devices[d].Exact {
			room[d] = min(room[d], 0)
		}
	}
	le.State, le.Since = Held, now
	if le.TTL > 0 {
		le.Expires = now.Add(le.TTL)
	}
	l.queue = slices.DeleteFunc(l.queue, func(other *Lease) bool { return other == le })
	l.held = append(l.held, le)
	l.change(le)
}

// Wanted returns how much memory must be free, by UUID, and on how many of these devices, for the first
// claim without a parent. It leaves out devices that have room, and those on which freed memory would not
// help. It returns nil until the claim has waited for wantedAfter, and while the client is not connected.
func (l *Ledger) Wanted() (free map[string]quantity.Bytes, count int) {
	at := slices.IndexFunc(l.queue, func(le *Lease) bool { return le.Parent == "" })
	if at < 0 || !l.queue[at].away.IsZero() || l.reading.At.Sub(l.queue[at].Asked) < wantedAfter {
		return nil, 0
	}
	le, room := l.queue[at], l.rooms("")
	free, count = map[string]quantity.Bytes{}, le.Count
	for _, d := range l.set(le) {
		switch is := &l.reading.Devices[d]; {
		case room[d] >= le.Need:
			count--
		case is.Known && (is.Exact || !l.leased(is.UUID)):
			free[is.UUID] = is.Free + le.Need - room[d]
		}
	}
	if count <= 0 {
		return nil, 0
	}
	return free, count
}

// Words returns the standing of a waiting claim in words.
func (l *Ledger) Words(le *Lease) string { return l.Standing(le).Words(&le.Claim) }

// Standing returns the standing of a waiting claim.
func (l *Ledger) Standing(le *Lease) (s Standing) {
	set := l.set(le)
	for _, other := range l.queue {
		if other == le {
			break
		}
		if other.Parent == le.Parent && slices.ContainsFunc(l.set(other), func(d int) bool { return slices.Contains(set, d) }) {
			s.Before++
		}
	}
	if len(l.reading.Devices) == 0 {
		s.Reason = "nothing has been sampled yet"
		return s
	}
	room := l.rooms(le.Parent)
	order := slices.SortedFunc(slices.Values(set), func(a, b int) int { return cmp.Compare(room[b], room[a]) })
	for _, d := range order {
		if room[d] >= le.Need {
			s.Fits++
		}
	}
	if len(order) > 0 {
		nearest := order[min(s.Fits, len(order)-1)]
		if s.Fits >= le.Count {
			nearest = order[0]
		}
		d := &l.reading.Devices[nearest]
		s.Nearest, s.Device, s.Room, s.Promised = d.Label, d.UUID, room[nearest], d.Free-l.Reserve-room[nearest]
		switch {
		case !d.Known:
			s.Reason = "the driver does not report what is free there"
		case !d.Exact && l.leased(d.UUID):
			s.Reason = "use per process is not known there, and another lease stands"
		}
	}
	return s
}
