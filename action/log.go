package action

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// LogName is the log's name in its directory.
const LogName = "audit.log"

const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// Log is the audit log: one JSON object a line, only ever appended to. A nil
// Log writes nothing: the actions of a simulated box are not logged.
type Log struct {
	Directory string           // made when the log is first opened for writing
	User      func() string    // name of who runs vramscope; may be nil
	Clock     func() time.Time // nil: time.Now
}

// The outcomes that every action can have.
const (
	Begun   = "begin"   // in the line before the action
	Refusal = "refused" // nothing was done
	Failed  = "failed"
)

// Entry is a line of the log, which escapes its text.
type Entry struct {
	Time    string `json:"time"`
	Action  string `json:"action"`  // "flush", "attach", "signal", "record"; "guard" for a decision without an action
	Outcome string `json:"outcome"` // "begin" before; after, "refused", "failed", or what was done or decided

	// Who wants the action, and why.
	UID  int    `json:"uid"`
	User string `json:"user,omitempty"`
	Origin

	// The process.
	PID       int      `json:"pid"`
	StartTime uint64   `json:"start_time_ticks,omitempty"` // none: there is no such process
	Target    string   `json:"target_user,omitempty"`
	Command   []string `json:"command"`
	GPUs      []int    `json:"gpus,omitempty"`

	// What is done to the process.
	Level       string   `json:"level,omitempty"`   // of a flush
	Devices     []string `json:"devices,omitempty"` // the devices flushed; none: all that the process uses
	Signal      string   `json:"signal,omitempty"`
	Method      string   `json:"method,omitempty"` // how a probe was attached, or the kind of server that was asked
	Interpreter string   `json:"interpreter,omitempty"`
	Version     string   `json:"version,omitempty"`

	// The result of the action.
	Expected       snapshot.Bytes `json:"expected_bytes,omitzero"`     // of a flush
	FreedBytes     snapshot.Bytes `json:"freed_bytes,omitzero"`        // by the probe
	CollectedBytes snapshot.Bytes `json:"collected_bytes,omitzero"`    // of reference cycles, by the probe
	DriverBytes    snapshot.Bytes `json:"driver_freed_bytes,omitzero"` // by how much used memory fell, by the driver
	StandstillMS   snapshot.Float `json:"standstill_ms,omitzero"`
	DurationMS     snapshot.Float `json:"duration_ms,omitzero"`
	Reason         string         `json:"reason,omitempty"`
}

// Milliseconds returns a duration as the log writes it.
func Milliseconds(d time.Duration) snapshot.Float {
	return quantity.From(float64(d.Round(100*time.Microsecond))/float64(time.Millisecond), quantity.System)
}

// Do logs a line, acts, and logs a second line with the outcome that act leaves in the entry. It does
// not act if the first line cannot be written. The outcome is "refused" after a *process.Refusal, and
// "failed" after another error or a panic, which continues. If the second line cannot be written, Do
// returns an error although the action was done.
func (l *Log) Do(e Entry, act func(*Entry) error) (err error) {
	if l == nil {
		return act(&e)
	}
	e.Outcome = Begun
	if err := l.write(&e); err != nil {
		return &process.Refusal{Reason: err.Error()}
	}
	began := l.now()
	defer func() {
		e.DurationMS = Milliseconds(l.now().Sub(began))
		if err != nil {
			e.Outcome, e.Reason = Failed, Reason(err)
			if Refused(err) {
				e.Outcome = Refusal
			}
		}
		unlogged := l.write(&e)
		if err == nil && unlogged != nil {
			err = fmt.Errorf("it is done, but %w", unlogged)
			return
		}
		err = errors.Join(err, unlogged)
	}()
	err = errPanic // remains if act panics
	err = act(&e)
	return err
}

var errPanic = errors.New("vramscope panicked: it may be done or not")

// Record logs a decision that is not an action.
func (l *Log) Record(e Entry) error {
	if l == nil {
		return nil
	}
	return l.write(&e)
}

// Path returns the log's file.
func (l *Log) Path() string { return filepath.Join(l.Directory, LogName) }

// Check returns nil if a line could be written, as far as can be known without writing, or else why
// not. It changes nothing.
func (l *Log) Check() error { return checkLog(l.Directory) }

// Prove returns nil if a line can be written, or else why not. It makes the log, and reserves room for
// the next lines.
func (l *Log) Prove() error {
	if l == nil {
		return nil
	}
	file, err := openLog(l.Directory)
	if err == nil {
		err = errors.Join(reserve(file), file.Close())
	}
	return unwritable(err)
}

// Refuse logs that an action was refused, and returns the refusal.
func (l *Log) Refuse(e Entry, refusal *process.Refusal) error {
	if l == nil {
		return refusal
	}
	e.Outcome, e.Reason = Refusal, refusal.Reason
	return errors.Join(refusal, l.write(&e))
}

// Reason returns a refusal's reason, a probe's own message, or the error.
func Reason(err error) string {
	if answer, ok := errors.AsType[*probe.Error](err); ok && !errors.Is(err, probe.ErrBroken) {
		return answer.Message
	}
	if refusal, ok := errors.AsType[*process.Refusal](err); ok {
		return refusal.Reason
	}
	return err.Error()
}

// Refused reports whether the error is a refusal: nothing was done.
func Refused(err error) bool {
	_, ok := errors.AsType[*process.Refusal](err)
	return ok
}

func (l *Log) now() time.Time {
	if l.Clock != nil {
		return l.Clock()
	}
	return time.Now()
}

func (l *Log) write(e *Entry) error {
	e.Time, e.UID = l.now().Format(timeLayout), os.Geteuid()
	if l.User != nil {
		e.User = l.User()
	}
	line, err := json.Marshal(e)
	if err == nil {
		err = appendLine(l.Directory, text.EscapeJSON(line))
	}
	return unwritable(err)
}

// unwritable returns the error for a log that cannot be written; it says what to do.
func unwritable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the audit log cannot be written: %w; mend that, or set XDG_STATE_HOME to a directory that only you can write", err)
}
