package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"time"

	"golang.org/x/time/rate"

	"vramscope/internal/bounded"
	"vramscope/internal/install"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// Alerts runs a command of the user for new alerts that concern the user (root: any alert), one
// command at a time. The command gets the alert as JSON on standard input.
//
//	observe (each snapshot) ─ raised, and the user's ─→ waiting ─→ run ─→ command
type Alerts struct {
	command []string
	uid     uint32
	log     *slog.Logger
	timeout time.Duration
	environ []string
	waiting chan schema.AlertDocument

	// Owned by the goroutine that observes.
	standing map[snapshot.AlertKey]bool // nil before the first snapshot
	began    time.Time
	dropped  int
	runs     *rate.Limiter
}

// The limits on the user's command.
const (
	commandTime    = 10 * time.Second // after this the command is killed with its process group
	mostWaiting    = 16
	commandBurst   = 20
	commandsAnHour = 60
	mostOutput     = 4 << 10 // bytes of the command's output that are logged if it fails
)

// NewAlerts prepares to run a command. Alerts in the first snapshot that were raised before began
// are skipped.
func NewAlerts(command []string, began time.Time, log *slog.Logger) *Alerts {
	return &Alerts{
		command: command, uid: uint32(os.Geteuid()), log: log, timeout: commandTime, environ: environment(os.Getenv),
		waiting: make(chan schema.AlertDocument, mostWaiting), began: began, runs: rate.NewLimiter(rate.Every(time.Hour/commandsAnHour), commandBurst),
	}
}

// environment returns the command's whole environment.
func environment(getenv func(string) string) []string {
	environ := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	if account, err := user.LookupId(strconv.Itoa(os.Geteuid())); err == nil {
		environ = append(environ, "HOME="+account.HomeDir, "USER="+account.Username, "LOGNAME="+account.Username)
	}
	for _, name := range []string{"LANG", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"} { // the last two for notify-send
		if value := getenv(name); value != "" {
			environ = append(environ, name+"="+value)
		}
	}
	return environ
}

// observe queues the alerts that are new since the last snapshot.
func (a *Alerts) observe(snap *snapshot.Snapshot) {
	standing := make(map[snapshot.AlertKey]bool, len(snap.Alerts))
	for i := range snap.Alerts {
		alert := &snap.Alerts[i]
		key := alert.Key()
		standing[key] = true
		old := a.standing == nil && alert.Since.Before(a.began) // the daemon before this one may have reported the alert
		if a.standing[key] || old || !a.concerns(snap, alert) {
			continue
		}
		a.hand(snap, alert)
	}
	a.standing = standing
}

// concerns reports whether an alert is about the user's process or, except for leaks and out-of-memory
// errors, about a GPU or the driver while a process of the user uses it. Root is concerned by all alerts.
func (a *Alerts) concerns(snap *snapshot.Snapshot, alert *snapshot.Alert) bool {
	if a.uid == 0 || snap.Simulated {
		return true
	}
	if ended := snap.EndedRow(alert.Row); ended != nil {
		return a.owns(&ended.Last)
	}
	if p := snap.Row(alert.Row); p != nil && a.owns(p) {
		return true
	}
	if alert.Kind == snapshot.AlertLeak || alert.Kind == snapshot.AlertOutOfMemory {
		return false
	}
	for i := range snap.Rows {
		p := &snap.Rows[i]
		affected := alert.GPUUUID == "" || p.ID.GPUUUID == alert.GPUUUID && (!alert.Instance.MIG || p.ID.Instance == alert.Instance)
		if affected && a.owns(p) {
			return true
		}
	}
	return false
}

func (a *Alerts) owns(p *snapshot.Process) bool {
	uid, known := p.UID.Value()
	return known && uid == a.uid
}

// hand queues an alert for the command, or drops the alert if the command runs too often.
func (a *Alerts) hand(snap *snapshot.Snapshot, alert *snapshot.Alert) {
	doc := schema.AlertOf(snap, alert)
	doc.Dropped = a.dropped
	if len(a.waiting) < cap(a.waiting) && a.runs.AllowN(snap.Time, 1) { // only this function fills the channel
		a.waiting <- doc
		a.dropped = 0
		return
	}
	if a.dropped++; a.dropped == 1 {
		a.log.Warn("alerts.exec: too many alerts: the command is not run for some", "kind", string(alert.Kind))
	}
}

// run runs the command for each queued alert. The end of the context kills a running command.
func (a *Alerts) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case doc := <-a.waiting:
			if err := a.call(ctx, doc); err != nil && ctx.Err() == nil {
				a.log.Error("alerts.exec failed", "command", text.Clean(a.command[0]), "kind", doc.Alert.Kind, "error", text.Clean(err.Error()))
			}
		}
	}
}

// CheckCommand refuses a command whose program another user could replace. A missing program is not
// an error.
func CheckCommand(command []string) error {
	_, err := programOf(command)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// programOf returns the path of a command's program. It refuses a program if another user could
// write the file or a directory above it.
func programOf(command []string) (string, error) {
	path, err := exec.LookPath(command[0])
	if err == nil {
		_, err = install.Trusted(path)
	}
	return path, err
}

func (a *Alerts) call(ctx context.Context, doc schema.AlertDocument) error {
	encoded, err := schema.Encode(doc)
	if err != nil {
		return err
	}
	path, err := programOf(a.command)
	if err != nil {
		return err
	}
	command := bounded.Command{
		Path: path, Arguments: a.command[1:], Environ: a.environ, Directory: "/",
		Input: encoded, Time: a.timeout, Limit: mostOutput,
	}
	output, err := command.Output(ctx)
	if err != nil && len(output) > 0 {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(output))
	}
	return err
}
