package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"vramscope/action"
	"vramscope/action/attach"
	"vramscope/action/flush"
	"vramscope/action/signal"
	"vramscope/cli/config"
	"vramscope/internal/bounded"
	"vramscope/internal/process"
	"vramscope/probe"
	way "vramscope/probe/attach"
	"vramscope/sampler"
	"vramscope/sampler/snapshot"
	"vramscope/ui"
)

// sampleTimeout keeps a GPU that hangs from holding a flush.
const sampleTimeout = 2 * time.Second

// logRefusal logs that a command did nothing to a pid, which is of no process or of one
// that no GPU knows of, and returns the reason.
func logRefusal(log *action.Log, table *process.Table, command string, pid int, why error) error {
	if log == nil {
		return why
	}
	entry := action.NewEntry(command, process.Identity{PID: pid}, action.Command(command))
	if info, err := table.Look(pid); err == nil {
		entry.StartTime = info.Identity.StartTime
		entry.Runs(info.User, info.Command)
	}
	_ = log.Refuse(entry, &process.Refusal{Reason: strings.TrimPrefix(why.Error(), "refused: ")}) // refused it is, logged or not
	return why
}

// flusher flushes; sample takes a fresh snapshot.
func (src *sources) flusher(sample func(context.Context) *snapshot.Snapshot) *flush.Flusher {
	return &flush.Flusher{Probes: src.flushes, Sample: sample, Log: src.log, Clock: src.options.Clock}
}

func attacher(table *process.Table, log *action.Log) *attach.Attacher {
	return &attach.Attacher{Way: waysInto(table), Log: log, Clock: time.Now}
}

func waysInto(table *process.Table) *way.Attacher {
	return way.New(way.Options{Table: table, Finder: probe.NewFinder(table)})
}

// actions binds what the screen may do to the box.
func (src *sources) actions(sampling *sampler.Sampler, s *config.Settings) ui.Actions {
	if s.ReadOnly {
		return ui.Actions{Segments: src.segmentsAction(sampling.Latest)} // which only reads
	}
	flusher := src.flusher(func(ctx context.Context) *snapshot.Snapshot {
		ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
		defer cancel()
		return sampling.Refresh(ctx)
	})
	flusher.Note = sampling.Note
	sender := &signal.Sender{
		Send: src.signal, Latest: sampling.Latest, Log: src.log, Note: sampling.Note, Clock: src.options.Clock,
	}
	actions := ui.Actions{
		Segments: src.segmentsAction(sampling.Latest),
		Flush:    during(src.inflight, flusher.Run),
		Signal:   during(src.inflight, sender.Run),
	}
	if src.table == nil {
		return actions // a simulated process has no inside
	}
	attacher := attacher(src.table, src.log)
	attacher.Latest, attacher.Note = sampling.Latest, sampling.Note
	actions.Attachable, actions.AuditLog = attacher.Examine, src.log.Directory
	actions.Attach = during(src.inflight, attacher.Run)
	return actions
}

func (p *program) canAsk() bool { return isTerminal(p.stdin) && isTerminal(p.stderr) }

// cannotAsk is a question without a terminal; dry is what --dry-run does.
func cannotAsk(command string, pid int, dry string) *failure {
	return &failure{code: exitUsage, message: "there is no terminal to ask on", advice: []string{
		fmt.Sprintf("  vramscope %s %d --dry-run   %s", command, pid, dry),
		fmt.Sprintf("  vramscope %s %d --yes       does it without asking", command, pid),
	}}
}

func (p *program) confirm(question string) error {
	if _, err := io.WriteString(p.stderr, question+" [y/N] "); err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	lines := bounded.Lines(p.stdin, 4<<10)
	if !lines.Scan() && lines.Err() != nil {
		return fmt.Errorf("read the answer: %w", lines.Err())
	}
	switch strings.ToLower(strings.TrimSpace(lines.Text())) {
	case "y", "yes":
		return nil
	default:
		return refused(nil, "you did not say yes; nothing was done")
	}
}
