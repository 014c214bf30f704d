package leasing

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/lease"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// Options are what a Keeper needs.
type Options struct {
	Directory string // where the journal is: the socket's directory
	Reserve   quantity.Bytes
	// Importance returns the configured importance of a claim; own: the daemon's user makes it.
	Importance func(user string, own bool, command []string) int
	Table      *process.Table
	Now        func() time.Time
	Note       func(snapshot.Event) // takes the events
	Log        *slog.Logger
}

// Keeper keeps the ledger. Any goroutine may call its methods.
type Keeper struct {
	Options
	latest chan *snapshot.Snapshot // the newest wins
	wanted atomic.Pointer[wanted]
	member members // used by Run alone

	mu       sync.Mutex
	ledger   lease.Ledger
	newest   *snapshot.Snapshot // the newest snapshot that the ledger has observed; nil: none yet
	journal  journal
	unkept   bool                     // the last write of the journal failed
	waits    map[string]chan struct{} // by the ID of a waiting claim; closed when the wait is over
	labels   map[string]string        // by the UUID of a device
	exact    map[string]bool          // by the UUID of a device: its use per process is known
	troubles map[trouble]standing
}

const (
	perUser  = 256  // the most leases and waiting claims of a user other than root and the daemon's
	perBox   = 2048 // the most of all users together
	tellTime = 2 * time.Second
)

// Open reads the journal. The keeper starts with the leases of the daemon before it.
func Open(o Options) (*Keeper, error) {
	k := &Keeper{
		Options: o, journal: journal{path: filepath.Join(o.Directory, "leases")}, latest: make(chan *snapshot.Snapshot, 1), waits: map[string]chan struct{}{}, labels: map[string]string{}, exact: map[string]bool{},
		troubles: map[trouble]standing{}, member: members{table: o.Table, leaseOf: map[process.Key]string{}, named: map[process.Key]string{}},
	}
	leases, err := k.journal.read()
	if err != nil {
		return nil, err
	}
	k.ledger = lease.Ledger{Reserve: o.Reserve, NewID: newID}
	k.ledger.Restore(o.Now(), leases)
	return k, nil
}

func newID() string {
	var id [4]byte
	_, _ = rand.Read(id[:]) // rand.Read never fails
	return hex.EncodeToString(id[:])
}

// Observe takes a snapshot; it does not wait.
func (k *Keeper) Observe(snap *snapshot.Snapshot) {
	select {
	case <-k.latest:
	default:
	}
	k.latest <- snap
}

// Run applies snapshots until the context ends.
func (k *Keeper) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case snap := <-k.latest:
			k.apply(snap)
		}
	}
}

// apply reads /proc without the lock, and then updates the ledger.
func (k *Keeper) apply(snap *snapshot.Snapshot) {
	k.mu.Lock()
	var held []lease.Lease
	idle := true
	for _, le := range k.ledger.Leases() {
		idle = false
		if le.State == lease.Held {
			held = append(held, *le)
		}
	}
	k.mu.Unlock()
	var ended []string
	if !idle {
		ended = k.member.update(held, snap)
	}
	reading := k.read(snap)
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range ended {
		if le := k.ledger.Lease(id); le != nil {
			k.ledger.End(le)
		}
	}
	for i := range reading.Devices {
		d := &reading.Devices[i]
		k.labels[d.UUID], k.exact[d.UUID] = d.Label, d.Exact
	}
	k.newest = snap
	k.ledger.Observe(reading)
	k.ledger.Advance(k.Now())
	_ = k.settle() // an error is logged, and the next settle writes the journal again
	k.noteTroubles(snap)
	w := wanted{}
	w.free, w.count = k.ledger.Wanted()
	k.wanted.Store(&w)
}

// wanted is what the first claim of the queue waits for.
type wanted struct {
	free  map[string]quantity.Bytes
	count int
}

// Wanted returns Ledger.Wanted of the newest snapshot. It does not wait.
func (k *Keeper) Wanted() (free map[string]quantity.Bytes, count int) {
	if w := k.wanted.Load(); w != nil {
		return w.free, w.count
	}
	return nil, 0
}

// settle writes changes to the journal, and wakes the claims whose wait is over. The lock is held.
func (k *Keeper) settle() error {
	changed := k.ledger.Changed()
	var err error
	if len(changed) > 0 || k.unkept {
		err = k.journal.write(k.ledger.Leases())
		k.unkept = err != nil
	}
	if err != nil {
		k.Log.Error("leases cannot be written down", "error", text.Clean(err.Error()))
	}
	for _, le := range changed {
		if le.State == lease.Waiting {
			continue
		}
		if le.State == lease.Ended {
			k.Log.Info("lease ended", "id", le.ID, "user", k.Table.UserName(le.UID), "need", le.Need.String(), "count", le.Count, "reason", le.Why)
		}
		if wait := k.waits[le.ID]; wait != nil {
			close(wait)
			delete(k.waits, le.ID)
		}
	}
	return err
}

// Claim returns a lease, or a *lease.Refusal. While the claim waits, Claim passes its state to tell,
// at once and every tellTime. The wait ends with ask.Wait, when left is closed, or if tell fails. If
// the context ends, the claim keeps its place for the next daemon.
func (k *Keeper) Claim(ctx context.Context, left <-chan struct{}, ask lease.Ask, tell func(schema.Lease) error) (schema.Lease, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	le := k.ledger.Back(ask.Ticket, ask.UID)
	if le == nil {
		if k.full(ask.UID) {
			return schema.Lease{}, lease.ErrMany
		}
		ask.Importance = k.Importance(k.Table.UserName(ask.UID), ask.UID == uint32(os.Geteuid()), strings.Fields(ask.Command))
		refusal := func(le *lease.Lease) string { return k.standing(le, ask.UID).Words(&le.Claim) }
		if ask.Wait > 0 {
			refusal = nil
		}
		var err error
		le, err = k.ledger.Claim(k.Now(), ask.Claim, refusal)
		if err != nil {
			_ = k.settle() // other leases may have changed
			return schema.Lease{}, err
		}
	} else {
		k.ledger.Advance(k.Now())
	}
	if err := k.settle(); err != nil {
		k.ledger.Release(k.Now(), le, "it could not be written down")
		_ = k.settle() // an error is logged
		return schema.Lease{}, err
	}
	if err := k.wait(ctx, left, le, ask.Wait, tell); err != nil {
		return schema.Lease{}, err
	}
	return k.shown(le, ask.UID), nil
}

// wait returns nil once a claim is granted. The caller holds the lock, and wait releases it meanwhile.
func (k *Keeper) wait(ctx context.Context, left <-chan struct{}, le *lease.Lease, limit time.Duration, tell func(schema.Lease) error) error {
	if le.State != lease.Waiting {
		return nil
	}
	over := make(chan struct{})
	k.waits[le.ID] = over
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	ticker := time.NewTicker(tellTime)
	defer ticker.Stop()
	for le.State == lease.Waiting {
		shown := k.shown(le, le.UID)
		k.mu.Unlock()
		err := tell(shown)
		if err == nil {
			select {
			case <-over:
			case <-ticker.C:
			case <-ctx.Done():
			case <-left:
				err = errLeft
			case <-timeout.C:
				err = errLeft
			}
		}
		k.mu.Lock()
		if ctx.Err() != nil { // the daemon ends: the claim keeps its place
			return ctx.Err()
		}
		if err != nil && le.State == lease.Waiting {
			words := k.standing(le, le.UID).Words(&le.Claim)
			k.ledger.Release(k.Now(), le, "its wait has ended")
			k.ledger.Advance(k.Now())
			_ = k.settle() // an error is logged; a lost write would lose no promise of memory
			return &lease.Refusal{Reason: words}
		}
	}
	if le.State == lease.Ended {
		return &lease.Refusal{Never: true, Reason: le.Why}
	}
	return nil
}

var errLeft = errors.New("the wait is over")

func (k *Keeper) full(uid uint32) bool {
	all := k.ledger.Leases()
	own := 0
	for _, le := range all {
		if le.UID == uid {
			own++
		}
	}
	return len(all) >= perBox || own >= perUser && uid != 0 && uid != uint32(os.Geteuid())
}

// Renew makes a lease expire at ttl from now.
func (k *Keeper) Renew(uid uint32, id string, ttl time.Duration) (schema.Lease, error) {
	return k.change(uid, id, func(le *lease.Lease) { k.ledger.Renew(k.Now(), le, ttl) })
}

// Release ends a lease. Its processes continue.
func (k *Keeper) Release(uid uint32, id string) (schema.Lease, error) {
	return k.change(uid, id, func(le *lease.Lease) { k.ledger.Release(k.Now(), le, "released") })
}

func (k *Keeper) change(uid uint32, id string, act func(*lease.Lease)) (schema.Lease, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	le := k.ledger.Lease(id)
	if le == nil || le.UID != uid && uid != 0 {
		return schema.Lease{}, lease.ErrNone
	}
	act(le)
	k.ledger.Advance(k.Now())
	return k.shown(le, uid), k.settle()
}

// Leases returns all leases, then the waiting claims in their order, as a user may see them.
func (k *Keeper) Leases(uid uint32) []schema.Lease {
	k.mu.Lock()
	defer k.mu.Unlock()
	return schema.List(k.ledger.Leases(), func(le **lease.Lease) schema.Lease { return k.shown(*le, uid) })
}

// shown returns a lease as a user may see it. Only its owner and root see its ID, command and parent.
func (k *Keeper) shown(le *lease.Lease, uid uint32) schema.Lease {
	out := schema.Lease{
		State: string(le.State), NeedBytes: le.Need, Count: le.Count, Importance: le.Importance, User: schema.Text(k.Table.UserName(le.UID)),
		AskedAt: schema.Time(le.Asked), Since: schema.Time(le.Since), ExpiresAt: schema.Time(le.Expires), GPUs: []schema.LeasedGPU{},
	}
	if le.Process.PID > 0 {
		out.PID = &le.Process.PID
	}
	if le.Length > 0 {
		out.ForSeconds = new(le.Length.Seconds())
	}
	if uid == 0 || uid == le.UID {
		out.ID, out.Command, out.Parent = schema.Text(le.ID), schema.Text(le.Command), schema.Text(le.Parent)
	}
	for _, d := range le.Devices {
		gpu := schema.LeasedGPU{GPU: schema.Text(k.labels[d]), UUID: d}
		if k.exact[d] {
			gpu.UsedBytes = quantity.From(k.ledger.Used(le, d), quantity.Driver)
		}
		out.GPUs = append(out.GPUs, gpu)
	}
	if le.State == lease.Waiting {
		s := k.standing(le, uid)
		out.Before, out.Standing = &s.Before, schema.Text(s.Words(&le.Claim))
	}
	for t, s := range k.troubles {
		if s.raised && (t.lease == le.ID || t.lease == "" && slices.Contains(le.Devices, t.device)) {
			out.Note = schema.Text(s.message)
		}
	}
	return out
}
