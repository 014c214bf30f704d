package lease

import (
	"errors"
	"fmt"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
)

// Variable is the environment variable that has the ID of a process's lease.
const Variable = "VRAMSCOPE_LEASE"

// Claim is a request for GPU memory.
type Claim struct {
	Need  quantity.Bytes `json:"need"` // on each of Count devices
	Count int            `json:"count"`
	// Among are the UUIDs of the acceptable GPUs and MIG instances; nil means all.
	Among  []string      `json:"among,omitempty"`
	Length time.Duration `json:"length,omitempty"` // how long the lease will be held; 0 means unknown
	TTL    time.Duration `json:"ttl,omitempty"`    // an unused lease ends after this time; 0 means never
	UID    uint32        `json:"uid"`
	// Process is the root of the process tree that the lease is for. If it is zero, the lease is for the
	// processes that have the lease's ID in Variable.
	Process process.Identity `json:"process"`
	Command string           `json:"command,omitempty"`
	Parent  string           `json:"parent,omitempty"` // the ID of the lease whose memory the claim takes, "" for none
	// Importance is set by the configuration of the daemon that keeps the lease, −1000 to 1000.
	Importance int `json:"importance,omitempty"`
}

// Ask is a client's claim.
type Ask struct {
	Claim
	Wait   time.Duration // how long the claim may wait
	Ticket string        // the ID of a claim that waited before its connection was lost, "" for none
}

// The errors of requests about leases.
var (
	ErrNone = errors.New("there is no such lease of yours: vramscope lease list shows them")
	ErrMany = errors.New("there are too many leases and claims")
)

// State is the state of a lease.
type State string

const (
	Waiting State = "waiting"
	Held    State = "held"
	Ended   State = "ended"
)

// Lease is a claim and its state. A daemon's journal keeps it as JSON.
type Lease struct {
	ID string `json:"id"`
	Claim
	State   State     `json:"state"`
	Asked   time.Time `json:"asked"`
	Since   time.Time `json:"since"`   // when the lease was granted
	Expires time.Time `json:"expires"` // when an unused lease ends; zero for never
	Devices []string  `json:"devices,omitempty"`
	Seen    bool      `json:"seen,omitempty"` // a process of the lease was on one of its devices
	Why     string    `json:"why,omitempty"`  // why the lease has ended

	away time.Time // when the claim was restored; zero for other claims, and once its client is back
}

// Ends returns when a lease is expected to end, zero if unknown.
func (l *Lease) Ends() time.Time {
	if l.Length == 0 {
		return time.Time{}
	}
	return l.Since.Add(l.Length)
}

// turn returns the time by which claims are ordered. A point of importance is worth 3.6 s of waiting, so
// even a claim of 1000 passes only claims of 0 that are less than an hour older, and none starves.
func (l *Lease) turn() time.Time {
	return l.Asked.Add(-time.Duration(l.Importance) * time.Hour / 1000)
}

// Device is a GPU or MIG instance in a reading.
type Device struct {
	UUID     string
	Label    string // "4", "5:1"
	Capacity quantity.Bytes
	Free     quantity.Bytes
	Known    bool // the driver answers and reports the free memory
	Exact    bool // the use of each process on the device is known
}

// Use identifies the memory that a lease's processes use on a device.
type Use struct{ Lease, Device string }

// Reading is free memory and use, sampled together.
type Reading struct {
	At      time.Time // just before the first figure was read
	Devices []Device
	// Used is the use of each lease that has a process on a device, 0 if unknown, without the leases that
	// take from it.
	Used map[Use]quantity.Bytes
}

// Standing says how far a claim is from getting its memory.
type Standing struct {
	Before int // how many claims that could use the same devices come first
	Fits   int // devices with enough room
	// Nearest is the label of the device that lacks least, "" if no device would do.
	Nearest  string
	Device   string         // the UUID of the nearest device
	Room     quantity.Bytes // on the nearest device
	Promised quantity.Bytes // the memory that leases may still take on the nearest device
	Reason   string         // why there is no figure, or why the nearest device has too little room
}

// Words returns the standing as part of a sentence: "needs 20.0G, most free is GPU 4 with 17.1G; 2
// before you".
func (s Standing) Words(c *Claim) string {
	what := "needs " + c.Need.String()
	if c.Count > 1 {
		what = fmt.Sprintf("needs %dx%s, room for %d of them", c.Count, c.Need, s.Fits)
	}
	switch {
	case s.Nearest == "" && s.Reason != "":
		what += ": " + s.Reason
	case s.Nearest != "":
		what += fmt.Sprintf(", most free is GPU %s with %s", s.Nearest, max(s.Room, 0))
		if s.Reason != "" {
			what += " (" + s.Reason + ")"
		}
	}
	if s.Before > 0 {
		what += fmt.Sprintf("; %d before you", s.Before)
	}
	return what
}

// Refusal is why a claim was not met.
type Refusal struct {
	Never  bool // waiting would not help
	Reason string
}

func (r *Refusal) Error() string { return r.Reason }
