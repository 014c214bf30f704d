package action

import (
	"slices"
	"strings"
	"time"

	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

// Origin is who asked for an action, and why.
type Origin struct {
	By  string `json:"by"`  // "key", "command", "policy"
	Why string `json:"why"` // "key F", "vramscope flush", a rule's name
}

// Key returns the origin of an action on the screen.
func Key(name string) Origin { return Origin{By: "key", Why: "key " + name} }

// Policy returns the origin of an action by a rule of the guard.
func Policy(rule string) Origin { return Origin{By: "policy", Why: rule} }

// Command returns the origin of an action by a command of vramscope.
func Command(name string) Origin { return Origin{By: "command", Why: "vramscope " + name} }

// A command line may be long, and may hold secrets further on.
const (
	maxWords = 4
	maxWord  = 256
)

// NewEntry begins an entry about a process.
func NewEntry(action string, id process.Identity, origin Origin) Entry {
	return Entry{Action: action, Origin: origin, PID: id.PID, StartTime: id.StartTime, Command: []string{}}
}

// About adds what a snapshot knows about the process: its user, its command, and its GPUs.
func (e *Entry) About(snap *snapshot.Snapshot, id process.Identity) {
	for _, p := range Rows(snap, id) {
		e.Runs(p.User, p.Command)
		if !slices.Contains(e.GPUs, p.GPU) {
			e.GPUs = append(e.GPUs, p.GPU)
		}
	}
}

// Runs adds the process's user and the start of its command line.
func (e *Entry) Runs(user string, command []string) {
	e.Target, e.Command = user, []string{}
	for _, word := range command[:min(len(command), maxWords)] {
		e.Command = append(e.Command, strings.ToValidUTF8(word[:min(len(word), maxWord)], "?"))
	}
}

// Rows returns a process's rows on some devices, or on all if none is named. A device is the UUID
// of a GPU or a MIG instance.
func Rows(snap *snapshot.Snapshot, id process.Identity, devices ...string) []*snapshot.Process {
	var rows []*snapshot.Process
	if snap == nil {
		return nil
	}
	for p := range snap.ProcessRows(id) {
		if len(devices) == 0 || slices.Contains(devices, snap.DeviceUUID(p.ID)) {
			rows = append(rows, p)
		}
	}
	return rows
}

// NewEvent returns the screen's event of an action, about a row of the process, on the devices if possible.
func NewEvent(now time.Time, snap *snapshot.Snapshot, kind snapshot.EventKind, id process.Identity, devices ...string) snapshot.Event {
	event := snapshot.Event{Time: now, Kind: kind, Row: snapshot.RowID{Process: id}}
	rows := append(Rows(snap, id, devices...), Rows(snap, id)...)
	if len(rows) == 0 {
		return event
	}
	p := rows[0]
	event.GPU, event.GPUUUID, event.Row = p.GPU, p.ID.GPUUUID, p.ID
	event.User, event.Name, event.Bytes = p.User, p.ProgramName(), p.Used
	return event
}

// NewFailure returns the event of an action that failed: "flush failed: …".
func NewFailure(now time.Time, snap *snapshot.Snapshot, what string, id process.Identity, err error, devices ...string) snapshot.Event {
	event := NewEvent(now, snap, snapshot.EventFailed, id, devices...)
	event.Severity, event.Message = snapshot.Notice, what+" failed: "+Reason(err)
	return event
}
