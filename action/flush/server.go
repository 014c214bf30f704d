package flush

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/action"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/server"
)

const (
	serverPause   = 200 * time.Millisecond // between two readings of the driver's figures
	serverSettles = time.Second            // nothing has changed for this long: the release has ended
	serverPending = 2 * time.Second        // nothing has changed at all for this long: the release is pending
)

// asked is a server that is asked to sleep or to wake.
type asked struct {
	*Flusher
	server   *server.Server
	state    server.State
	expected quantity.Bytes
	only     *os.File // while only is open, no other program asks
}

// OfServer reports whether a level is for the process's server.
func OfServer(level Level) bool { return level == Sleep || level == Wake }

// lock lets only one program at a time ask a server, because a second release ends SGLang.
// It locks a file in /proc that only the server's user and root can open, until the file is closed.
func lock(s *server.Server) (*os.File, error) {
	only, err := os.Open(fmt.Sprintf("/proc/%d/environ", s.Process.PID))
	if err != nil {
		return nil, &process.Refusal{Reason: fmt.Sprintf("%s cannot be locked against a second request: %s", s.Name, err)}
	}
	if err := unix.Flock(int(only.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = only.Close() // the file was only locked
		return nil, &process.Refusal{Reason: s.Name + " is being asked already"}
	}
	return only, nil
}

// ask finds the process's server and asks for its state. It changes nothing. If it succeeds, and
// this is no dry run, the server is locked: the caller closes the lock when the request is over.
func (f *Flusher) ask(ctx context.Context, r Request, before *snapshot.Snapshot) (_ *asked, err error) {
	refuse := func(format string, args ...any) (*asked, error) {
		return nil, &process.Refusal{Reason: fmt.Sprintf(format, args...)}
	}
	s, err := f.Servers(r.Process)
	if err != nil {
		return nil, err
	}
	a := &asked{Flusher: f, server: s}
	if !r.DryRun {
		if a.only, err = lock(s); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				_ = a.only.Close() // the file was only locked
			}
		}()
	}
	if a.state, err = s.Look(ctx); err != nil {
		return nil, err
	}
	if !a.state.Asleep.Known() && f.Log != nil {
		a.state.Asleep = f.sleptBefore(s.Finder.Below(s.Process.PID))
	}
	result := Result{Devices: a.devices(before, nil)}
	used, known := result.known(quantity.Driver, func(d *Device) snapshot.Bytes { return d.DriverAfter }).Value()
	a.expected = min(used, a.state.Releases.Or(used))
	requests, counted := a.state.Requests.Value()
	asleep, isKnown := a.state.Asleep.Value()
	room := before.Host.MemoryTotal.Or(0) - before.Host.MemoryUsed.Or(0)
	switch {
	case a.state.Cannot != "":
		return refuse("%s cannot sleep: %s", s.Name, a.state.Cannot)
	case r.Level == Wake && !a.state.Resumes():
		return refuse("%s loads a model again with the next request for it", s.Name)
	case r.Level == Wake && isKnown && !asleep:
		return refuse("%s is awake", s.Name)
	case !isKnown && s.Key == "sglang": // asking SGLang for its state would end it
		return refuse("it is not known whether SGLang sleeps: what vramscope asked of it last has failed")
	case !known:
		return refuse("the driver reports no memory of %s: what comes of it could not be verified", s.Name)
	case r.Level == Wake:
		a.expected = 0
	case asleep:
		return refuse("%s sleeps already", s.Name)
	case s.Key == "sglang" && a.state.Exceeds(used):
		return refuse("SGLang may sleep already, and a release would end it: it reports more memory than the driver does")
	case requests > 0:
		return refuse("%s is busy: it has %d requests", s.Name, requests)
	case !counted && !a.state.Waits:
		return refuse("%s does not say whether it is busy", s.Name)
	case a.state.Moves && room < a.expected:
		return refuse("%s would move up to %s to the host's memory, of which %s are available", s.Name, a.expected, room)
	}
	return a, nil
}

// sleptBefore returns whether the server sleeps, by the audit log; unknown after an unfinished or
// failed request.
func (f *Flusher) sleptBefore(members map[process.Key]bool) quantity.Optional[bool] {
	slept := quantity.From(false, quantity.System)
	_ = f.Log.Read(func(e *action.Entry) { // after an error, what was read counts
		switch {
		case !OfServer(Level(e.Level)) || e.Outcome == action.Refusal || !members[process.Identity{PID: e.PID, StartTime: e.StartTime}.Key()]:
		case e.Outcome == action.Begun || e.Outcome == action.Failed:
			slept = quantity.Unknown[bool]()
		default:
			slept = quantity.From(e.Level == string(Sleep), quantity.System)
		}
	})
	return slept
}

// devices returns the devices that the server uses or used before, with what the driver reports now.
func (a *asked) devices(snap *snapshot.Snapshot, devices []Device) []Device {
	members, none := a.server.Finder.Below(a.server.Process.PID), quantity.From(quantity.Bytes(0), quantity.Driver)
	for i := range devices {
		devices[i].DriverAfter = none
	}
	for i := range snap.Rows {
		row := &snap.Rows[i]
		if !members[row.ID.Process.Key()] {
			continue
		}
		uuid := snap.DeviceUUID(row.ID)
		at := slices.IndexFunc(devices, func(d Device) bool { return d.UUID == uuid })
		if at < 0 {
			at, devices = len(devices), append(devices, Device{UUID: uuid, Index: quantity.From(row.GPU, quantity.Driver), DriverAfter: none})
		}
		devices[at].DriverAfter = quantity.All(devices[at].DriverAfter, row.Used)
	}
	for i := range devices {
		d := &devices[i]
		if g, _ := snap.Device(d.UUID); g == nil || g.State != snapshot.GPUOK || !g.ProcessCount.Known() {
			d.DriverAfter = snapshot.Bytes{}
		}
		d.Before = d.DriverBefore.Or(0) // the driver's figures, because no probe reports them
		d.After = d.DriverAfter.Or(d.Before)
	}
	return devices
}

// run asks the server, and reads the driver's figures until they settle or the time is over. The
// result is the driver's figures, not the server's answer.
func (a *asked) run(ctx context.Context, r Request, before *snapshot.Snapshot) (Result, error) {
	result := Result{Level: r.Level, DryRun: r.DryRun, Returnable: a.expected, Server: strings.TrimSpace(a.server.Name + " " + a.state.Version), Step: 1, Steps: 1}
	result.Devices = a.devices(before, nil)
	for i := range result.Devices {
		result.Devices[i].DriverBefore = result.Devices[i].DriverAfter
	}
	result.Devices = a.devices(before, result.Devices)
	reported := a.state.Checked(quantity.From(result.Before(), quantity.Driver))
	if words := reported.Report(); words != "" {
		result.Notes = []string{"reported by the server: " + words}
	}
	if a.state.Unloads != "" && r.DryRun && r.Level == Sleep {
		result.Notes = append(result.Notes, "a sleep unloads "+a.state.Unloads)
	}
	if r.DryRun {
		return result, nil
	}
	finish := context.WithoutCancel(ctx)
	limited, cancel := context.WithTimeout(finish, a.server.Limit)
	defer cancel()
	answers := make(chan error, 1)
	go func() { answers <- a.server.Ask(limited, &a.state, r.Level == Sleep) }()
	began := a.Clock()
	changed, answered := began, time.Time{}
	var failure error
	var moved, most quantity.Bytes
	for over := false; !over; {
		select {
		case failure = <-answers:
			answered = a.Clock()
		default:
		}
		now := a.Clock()
		result.Devices = a.devices(a.Sample(finish), result.Devices)
		if freed := result.Freed(); freed != moved {
			moved, changed = freed, now
		}
		most, result.Took = max(most, moved), changed.Sub(began)
		result.Pending = max(moved, -moved) <= snapshot.Tolerance(a.expected)
		if result.Pending && now.Sub(began) >= serverPending && r.Progress != nil {
			r.Progress(result)
		}
		settled := !answered.IsZero() && now.Sub(answered) >= serverSettles && now.Sub(changed) >= serverSettles
		over = settled && (failure != nil || !result.Pending || most > snapshot.Tolerance(a.expected) || r.Level == Wake && now.Sub(answered) >= serverPending) ||
			now.Sub(began) >= a.server.Limit || ctx.Err() != nil || a.server.Ended(r.Process)
		if !over {
			a.pause(ctx, serverPause)
		}
	}
	switch {
	case a.server.Ended(r.Process):
		return result, errors.Join(fmt.Errorf("%s has ended meanwhile", a.server.Name), failure)
	case failure != nil:
		return result, failure
	case ctx.Err() != nil:
		result.Stopped = true
	case answered.IsZero():
		return result, fmt.Errorf("%s has not answered in %s: it may still happen", a.server.Name, a.server.Limit)
	case result.Pending && r.Level == Sleep:
		result.Pending, result.Reason = false, fmt.Sprintf("it answered, and in %s the driver's figure has not fallen", a.server.Limit)
		if most > snapshot.Tolerance(a.expected) {
			result.Reason = "it has taken " + most.String() + " again"
		}
	}
	return result, nil
}

// hold makes leases hold the room of a server that sleeps, for a time, or ends them when it is woken.
func (a *asked) hold(ctx context.Context, r Request, result *Result) {
	ttl := cmp.Or(r.Hold, a.server.Hold)
	switch outcome := result.Outcome(); {
	case a.Hold == nil:
	case ttl > 0 && !a.state.Resumes() && outcome == "flushed":
		result.Notes = append(result.Notes, "its room is not held: it takes memory again with the next request, and nothing would end the lease")
	case outcome == "woken":
		result.Notes = append(result.Notes, a.Hold(ctx, a.server, result, 0)...)
	case ttl > 0 && outcome == "flushed":
		result.Notes = append(result.Notes, a.Hold(ctx, a.server, result, ttl)...)
	case ttl > 0 && r.Level == Sleep:
		result.Notes = append(result.Notes, "its room is not held: it has not released its memory, or not all of it")
	}
}

// serverSentence returns in words what a server did when it was asked.
func (r *Result) serverSentence(subject string) string {
	who := r.Server
	if subject != "" {
		who += " (PID" + subject + ")"
	}
	change := fmt.Sprintf("%s: %s to %s", who, r.Before(), r.After())
	switch {
	case r.DryRun && r.Level == Wake:
		return "dry run: " + who + " would take its memory again"
	case r.DryRun:
		return fmt.Sprintf("dry run: %s would free up to %s of %s", who, r.Returnable, r.Before())
	case r.Pending:
		return "pending: " + change + " so far"
	case r.Reason != "":
		return "nothing freed by " + change + ": " + r.Reason
	case r.Level == Wake:
		return fmt.Sprintf("woken: %s, took %s in %s, by the driver", change, max(-r.Freed(), 0), spent(r.Took))
	}
	return fmt.Sprintf("asleep: %s, freed %s in %s, by the driver", change, max(r.Freed(), 0), spent(r.Took))
}
