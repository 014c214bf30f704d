package actions

import (
	"fmt"
	"io"
	"strings"

	"vramscope/action"
	"vramscope/cli/command"
	"vramscope/internal/bounded"
	"vramscope/internal/process"
)

// logRefusal logs that a command did nothing to a pid, which is of no process or of one
// that no GPU knows of, and returns the reason.
func logRefusal(log *action.Log, table *process.Table, name string, pid int, why error) error {
	if log == nil {
		return why
	}
	entry := action.NewEntry(name, process.Identity{PID: pid}, action.Command(name))
	if info, err := table.Look(pid); err == nil {
		entry.StartTime = info.Identity.StartTime
		entry.Runs(info.User, info.Command)
	}
	_ = log.Refuse(entry, &process.Refusal{Reason: strings.TrimPrefix(why.Error(), "refused: ")}) // refused it is, logged or not
	return why
}

func canAsk(p *command.Program) bool {
	return command.IsTerminal(p.Stdin) && command.IsTerminal(p.Stderr)
}

// cannotAsk is a question without a terminal; dry is what --dry-run does.
func cannotAsk(name string, pid int, dry string) *command.Failure {
	return &command.Failure{Code: command.ExitUsage, Message: "there is no terminal to ask on", Next: []string{
		fmt.Sprintf("  vramscope %s %d --dry-run   %s", name, pid, dry),
		fmt.Sprintf("  vramscope %s %d --yes       does it without asking", name, pid),
	}}
}

func confirm(p *command.Program, question string) error {
	if _, err := io.WriteString(p.Stderr, question+" [y/N] "); err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	lines := bounded.Lines(p.Stdin, 4<<10)
	if !lines.Scan() && lines.Err() != nil {
		return fmt.Errorf("read the answer: %w", lines.Err())
	}
	switch strings.ToLower(strings.TrimSpace(lines.Text())) {
	case "y", "yes":
		return nil
	default:
		return command.Refused(nil, "you did not say yes; nothing was done")
	}
}
