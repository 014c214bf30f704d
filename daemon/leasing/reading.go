package leasing

import (
	"cmp"
	"fmt"
	"strconv"

	"vramscope/internal/quantity"
	"vramscope/lease"
	"vramscope/sampler/snapshot"
)

func (k *Keeper) read(snap *snapshot.Snapshot) lease.Reading {
	r := lease.Reading{At: snap.Time, Used: map[lease.Use]quantity.Bytes{}}
	inexact := map[string]bool{}
	for i := range snap.Rows {
		p := &snap.Rows[i]
		device, id := snap.DeviceUUID(p.ID), p.ID.Process
		used, isKnown := p.Used.Value()
		if !isKnown || id.Foreign() {
			inexact[device] = true
		}
		if owner := k.member.leaseOf[id.Key()]; owner != "" {
			r.Used[lease.Use{Lease: owner, Device: device}] += used
		}
	}
	if snap.Driver.State != snapshot.DriverOK {
		return r
	}
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		add := func(uuid, label string, m *snapshot.Memory) {
			free, isKnown := snapshot.FreeOf(m).Value()
			r.Devices = append(r.Devices, lease.Device{
				UUID: uuid, Label: label, Capacity: m.Capacity().Or(0), Free: free,
				Known: isKnown && g.State == snapshot.GPUOK, Exact: !inexact[uuid] && g.ProcessCount.Known(),
			})
		}
		if !g.MIG {
			add(g.UUID, strconv.Itoa(g.Index), &g.Memory)
		}
		for j := range g.Instances {
			add(g.Instances[j].UUID, fmt.Sprintf("%d:%d", g.Index, j+1), &g.Instances[j].Memory)
		}
	}
	return r
}

// trouble identifies a lease.Trouble by the device's UUID and the lease, "" for memory taken without one.
type trouble struct{ device, lease string }

// standing is a trouble in the newest reading; raised: the reading before showed it, too.
type standing struct {
	raised  bool
	message string
}

// noteTroubles makes an event of a trouble that two readings in a row show, and another event when
// the trouble is over. The lock is held.
func (k *Keeper) noteTroubles(snap *snapshot.Snapshot) {
	now := map[trouble]standing{}
	for _, found := range k.ledger.Troubles() {
		t := trouble{found.Device, found.Lease}
		before, again := k.troubles[t]
		s := standing{again, k.words(snap, found)}
		if again && !before.raised {
			k.note(snap, found.Device, snapshot.EventAlarm, snapshot.Notice, s.message)
		}
		now[t] = s
	}
	for t, s := range k.troubles {
		if _, stands := now[t]; s.raised && !stands {
			k.note(snap, t.device, snapshot.EventCleared, 0, "over: "+s.message)
		}
	}
	k.troubles = now
}

// words describes a trouble for all users, so without names of programs.
func (k *Keeper) words(snap *snapshot.Snapshot, t lease.Trouble) string {
	gpu := "GPU " + k.labels[t.Device]
	if le := k.ledger.Lease(t.Lease); le != nil {
		used := k.ledger.Used(le, t.Device)
		return fmt.Sprintf("a lease of %s uses %s on %s, %s more than it was promised", k.Table.UserName(le.UID), used, gpu, t.Bytes)
	}
	message := fmt.Sprintf("%s of what leases were promised on %s was taken without a lease", t.Bytes, gpu)
	largest := mostOn(snap, t.Device, func(p *snapshot.Process) quantity.Bytes {
		if k.member.leaseOf[p.ID.Process.Key()] != "" {
			return 0
		}
		return p.Used.Or(0)
	})
	if largest != nil {
		message += fmt.Sprintf("; the largest there is PID %d (%s) with %s", largest.ID.Process.PID, cmp.Or(largest.User, "?"), largest.Used.Or(0))
	}
	return message
}

// mostOn returns the process on a device with the highest figure, nil if no figure is above 0.
func mostOn(snap *snapshot.Snapshot, device string, figure func(*snapshot.Process) quantity.Bytes) (most *snapshot.Process) {
	largest := quantity.Bytes(0)
	for i := range snap.Rows {
		p := &snap.Rows[i]
		if snap.DeviceUUID(p.ID) != device {
			continue
		}
		if has := figure(p); has > largest {
			most, largest = p, has
		}
	}
	return most
}

// standing returns how far a claim is from its memory. The reason names the viewer's process that
// grows fastest there (for root, any user's). If none grows, it names the larger of the largest
// process and what leases may still take. Only root sees the programs of other users.
func (k *Keeper) standing(le *lease.Lease, viewer uint32) lease.Standing {
	s := k.ledger.Standing(le)
	if s.Reason != "" || s.Device == "" || s.Room >= le.Need || le.Parent != "" {
		return s
	}
	seen := func(p *snapshot.Process) bool {
		uid, isKnown := p.UID.Value()
		return viewer == 0 || isKnown && uid == viewer
	}
	grows := mostOn(k.newest, s.Device, func(p *snapshot.Process) quantity.Bytes {
		if !seen(p) {
			return 0
		}
		return p.GrowthPerSecond.Or(0)
	})
	largest := mostOn(k.newest, s.Device, func(p *snapshot.Process) quantity.Bytes { return p.Used.Or(0) })
	switch {
	case grows != nil:
		s.Reason = fmt.Sprintf("%s's %s grows %s/s", cmp.Or(grows.User, "?"), grows.ProgramName(), grows.GrowthPerSecond.Or(0))
	case s.Promised > 0 && (largest == nil || largest.Used.Or(0) < s.Promised):
		s.Reason = fmt.Sprintf("leases there may still take %s", s.Promised)
	case largest != nil && seen(largest):
		s.Reason = fmt.Sprintf("%s's %s has %s", cmp.Or(largest.User, "?"), largest.ProgramName(), largest.Used.Or(0))
	case largest != nil:
		s.Reason = fmt.Sprintf("PID %d (%s) has %s", largest.ID.Process.PID, cmp.Or(largest.User, "?"), largest.Used.Or(0))
	}
	return s
}

func (k *Keeper) note(snap *snapshot.Snapshot, device string, kind snapshot.EventKind, severity snapshot.Severity, message string) {
	e := snapshot.Event{Time: k.Now(), Kind: kind, Severity: severity, GPUUUID: device, Message: message}
	if g, _ := snap.Device(device); g != nil {
		e.GPU, e.GPUUUID = g.Index, g.UUID
	}
	k.Note(e)
}
