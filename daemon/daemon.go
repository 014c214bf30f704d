package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/daemon/socket"
	"vramscope/internal/bounded"
	"vramscope/internal/panics"
	"vramscope/internal/process"
	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// Sampling is what the daemon needs of a sampler.
type Sampling interface {
	Run(ctx context.Context) error
	Latest() *snapshot.Snapshot
	Updates() <-chan struct{}
}

// Recorder is what the daemon needs of a recording.
type Recorder interface {
	// Append records a snapshot and the events since the previous one, without waiting for the disk.
	Append(snap *snapshot.Snapshot, events []snapshot.Event) error
	// Counts returns the state of the recorder. Any goroutine may call it.
	Counts() metric.Recorder
	// Close returns when everything appended is on disk.
	Close() error
}

// Exporter is what the daemon needs of an exporter.
type Exporter interface {
	// Observe takes a snapshot and the events since the previous one; recorder is nil if nothing is
	// recorded. It does not wait.
	Observe(snap *snapshot.Snapshot, events []snapshot.Event, recorder *metric.Recorder)
	// Run serves the observed snapshots until the context ends.
	Run(ctx context.Context) error
}

// Guard is what the daemon needs of a guard. The sampler passes it the snapshots.
type Guard interface {
	socket.Guard
	socket.Rescuer
	// Run carries out the guard's decisions until the context ends.
	Run(ctx context.Context)
}

// Leases is what the daemon needs of a ledger.
type Leases interface {
	socket.Leaser
	// Observe takes a snapshot. It does not wait.
	Observe(snap *snapshot.Snapshot)
	// Run applies the snapshots until the context ends.
	Run(ctx context.Context)
}

// Options configure a daemon.
type Options struct {
	Directory string // holds the socket and the lock; the caller makes it
	Share     socket.Share
	Sampling  Sampling
	History   snapshot.History      // the sampler's history
	Past      snapshot.History      // what clients see of the past; nil: History
	Warm      func()                // called once in the background, after the first snapshot; may be nil
	Answers   func() []probe.Answer // returns the probes' answers; nil if none are read
	Recorder  Recorder              // nil: nothing is recorded
	Recording string                // the Recorder's directory, for the log
	Alerts    *Alerts               // nil: no command is run
	Guard     Guard                 // nil: there is none
	Leases    Leases                // nil: there are none
	Exporter  Exporter              // nil: nothing is exported
	// Jobs takes a snapshot and calls ended for each job that has ended, with its use; nil: the
	// end of a job is not logged.
	Jobs func(snap *snapshot.Snapshot, ended func(message string, attributes ...any))
	// Processes identifies the processes that ask for a rescue or a lease; nil: none can ask.
	Processes *process.Table
	// Check reads the configuration again, and returns why it is refused.
	Check   func() error
	Log     *slog.Logger
	Notify  *Notifier
	Signals <-chan os.Signal
	Now     func() time.Time
}

// ErrReload ends Run at SIGHUP: the caller executes the program again.
var ErrReload = errors.New("the configuration is read anew")

// Run samples until SIGTERM or SIGINT, an error, or the end of the context. At SIGHUP it returns
// ErrReload, unless Check refuses the configuration. If this user's daemon runs already, the error
// is a *Running.
func Run(ctx context.Context, o Options) (err error) {
	held, err := lock(o.Directory, o.Now())
	if err != nil {
		return err
	}
	defer func() { _ = held.Close() }() // this releases the lock
	d := &daemon{Options: o, began: o.Now()}
	listening := socket.Options{
		Directory: o.Directory, Share: o.Share, Latest: o.Sampling.Latest, Answers: o.Answers, History: cmp.Or(o.Past, o.History), Status: d.status,
	}
	listening.Failed = func(err error) { o.Log.Error("panic at a client's request", "error", err) }
	if o.Processes != nil {
		listening.Identify, listening.Owner = o.Processes.Identify, o.Processes.Owner
	}
	if o.Guard != nil {
		listening.Guard, listening.Rescuer = o.Guard, o.Guard
	}
	if o.Leases != nil {
		listening.Leaser = o.Leases
	}
	server, err := socket.Listen(listening)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	d.start = func(what string, act func() error) {
		running.Go(func() {
			defer panics.To(cancel, "daemon: "+what)
			if err := act(); err != nil {
				cancel(err)
			}
		})
	}
	d.start("socket", func() error { server.Serve(ctx); return nil })
	d.start("sampler", func() error { return o.Sampling.Run(ctx) })
	if o.Alerts != nil {
		d.start("alerts", func() error { o.Alerts.run(ctx); return nil })
	}
	if o.Guard != nil {
		d.start("guard", func() error { o.Guard.Run(ctx); return nil })
	}
	if o.Leases != nil {
		d.start("leases", func() error { o.Leases.Run(ctx); return nil })
	}
	if o.Exporter != nil {
		d.start("exporter", func() error { return o.Exporter.Run(ctx) })
	}
	err = d.loop(ctx)
	cancel(nil)
	if errors.Is(err, ErrReload) {
		o.Notify.Reloading()
	} else {
		o.Notify.send("STOPPING=1")
	}
	// The recording is closed first, because a driver that hangs delays the end of the sampler.
	if o.Recorder != nil {
		err = errors.Join(err, o.Recorder.Close())
	}
	bounded.Wait(&running, endTime)
	return err
}

// endTime limits how long Run waits for its goroutines at the end.
const endTime = 300 * time.Millisecond

// daemon is the state of one Run.
type daemon struct {
	Options
	began    time.Time
	ready    bool
	start    func(what string, act func() error) // runs act on a goroutine; an error ends the daemon
	driver   snapshot.DriverState
	paused   string
	cannot   string // why the guard cannot act
	lastTick time.Time
	last     snapshot.Event // the newest event that newEvents has returned
}

func (d *daemon) loop(ctx context.Context) error {
	d.lastTick = d.began
	var watchdog <-chan time.Time
	if period := d.Notify.watchdog / 2; period > 0 {
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		watchdog = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		case signal := <-d.Signals:
			if signal != syscall.SIGHUP {
				d.Log.Info("ending", "signal", signal.String())
				return nil
			}
			if err := d.Check(); err != nil {
				d.Log.Error("the configuration is refused; the daemon goes on with the one before", "error", text.Clean(err.Error()))
				continue
			}
			d.Log.Info("reading the configuration anew")
			return ErrReload
		case <-d.Sampling.Updates():
			d.take(d.Sampling.Latest())
		case <-watchdog:
			// A driver that hangs only delays ticks. If the ticks stop, the sampler hangs, and systemd
			// restarts a daemon that does not send WATCHDOG=1.
			latest := d.Sampling.Latest()
			if latest == nil || d.Now().Sub(d.lastTick) < latest.Interval+d.Notify.watchdog {
				d.Notify.send("WATCHDOG=1")
			}
		}
	}
}

// take logs the changes in a snapshot, and passes it to Jobs, Recorder, Leases, Alerts and Exporter.
func (d *daemon) take(snap *snapshot.Snapshot) {
	d.lastTick = d.Now()
	events := d.newEvents()
	d.logChanges(snap, events)
	if d.Jobs != nil {
		d.Jobs(snap, d.Log.Info)
	}
	var recorder *metric.Recorder
	if d.Recorder != nil {
		recorder = d.logRecording(d.Recorder.Append(snap, events))
	}
	if d.Guard != nil {
		d.logGuard()
	}
	if d.Leases != nil {
		d.Leases.Observe(snap)
	}
	if d.Alerts != nil {
		d.Alerts.observe(snap)
	}
	if d.Exporter != nil {
		d.Exporter.Observe(snap, events, recorder)
	}
	if !d.ready {
		d.ready = true
		if d.Warm != nil {
			d.start("forecasts", func() error { d.Warm(); return nil })
		}
		d.Log.Info("sampling", "gpus", len(snap.GPUs), "driver", string(snap.Driver.State), "interval", snap.Interval.String(),
			"recording", cmp.Or(d.Recording, "off"), "simulated", snap.Simulated, "socket", d.Directory+"/"+socket.Name)
		d.Notify.send("READY=1\nSTATUS=" + d.sentence(snap))
	}
}

// newEvents returns the events since the last call, oldest first.
func (d *daemon) newEvents() []snapshot.Event {
	const usual = 64
	newest := d.History.Events(usual)
	at := slices.Index(newest, d.last)
	if at < 0 && len(newest) == usual {
		newest = d.History.Events(0)
		at = slices.Index(newest, d.last)
	}
	if at < 0 {
		at = len(newest)
	}
	if at > 0 {
		d.last = newest[0]
	}
	fresh := slices.Clone(newest[:at])
	slices.Reverse(fresh)
	return fresh
}

const lockName = "daemon.lock"

// Running is the error that this user's daemon runs already.
type Running struct{ Holder string } // "PID 12, since 2026-11-21 03:12:00", or the lock's path

func (r *Running) Error() string { return "another vramscope daemon of this user runs: " + r.Holder }

// lock takes the lock in a directory. Closing the file releases it, and so does the end of the
// process. If another daemon has the lock, the error is a *Running.
func lock(directory string, now time.Time) (*os.File, error) {
	path := filepath.Join(directory, lockName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("daemon: lock: %w", err)
	}
	switch err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		content, _ := bounded.First(file, 100) // a file that cannot be read names no holder
		holder := cmp.Or(text.Clean(strings.TrimSpace(string(content))), path+" is locked")
		return nil, errors.Join(&Running{holder}, file.Close())
	case err != nil:
		return nil, fmt.Errorf("daemon: lock %s: %w", path, errors.Join(err, file.Close()))
	}
	line := fmt.Sprintf("PID %d, since %s\n", os.Getpid(), now.Local().Format(time.DateTime))
	err = file.Truncate(0)
	if err == nil {
		_, err = file.WriteAt([]byte(line), 0)
	}
	if err != nil {
		return nil, fmt.Errorf("daemon: lock %s: %w", path, errors.Join(err, file.Close()))
	}
	return file, nil
}
