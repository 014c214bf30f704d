package cell

import (
	"strings"

	"vramscope/internal/process"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// commandLimit is how much of a command line a row ever needs; a hostile one
// has megabytes. All of it is in the detail.
const commandLimit = 2048

// ShortCommand is a process's command for a row: without interpreter, flags
// and directories, fit to be shown.
func ShortCommand(p *snapshot.Process) string {
	if p.ID.Process.Foreign() {
		return "pid of another container"
	}
	return text.Clean(Limit(process.ShortCommand(limitedArguments(p.Command), Limit(p.Name))))
}

// commandCache remembers short commands by the argument list they were made
// of: a row's list is the same one from snapshot to snapshot, and a frame
// shows dozens. The list is kept alive by its key, so its address cannot come
// to mean another one.
type commandCache map[*string]string

// commandsKept is more than any screen shows; beyond it the cache starts anew.
const commandsKept = 4096

// ShortCommand is shortCommand out of the cache.
func (a *Appearance) ShortCommand(p *snapshot.Process) string {
	if len(p.Command) == 0 || p.ID.Process.Foreign() {
		return ShortCommand(p)
	}
	if text, ok := a.commands[&p.Command[0]]; ok {
		return text
	}
	if a.commands == nil || len(a.commands) >= commandsKept {
		a.commands = make(commandCache)
	}
	text := ShortCommand(p)
	a.commands[&p.Command[0]] = text
	return text
}

// limitedArguments is as many arguments as a row can show.
func limitedArguments(arguments []string) []string {
	total := 0
	for i, argument := range arguments {
		if total += len(argument); total <= commandLimit {
			continue
		}
		short := make([]string, i+1)
		copy(short, arguments)
		short[i] = Limit(argument)
		return short
	}
	return arguments
}

// Limit cuts what no screen can show. The cut may split a rune; clean
// takes the remains.
func Limit(text string) string {
	if len(text) > commandLimit {
		return text[:commandLimit]
	}
	return text
}

// ProgramName is a process's program in one word, without what only says that
// it was launched.
func (a *Appearance) ProgramName(p *snapshot.Process) string {
	command, _, _ := strings.Cut(a.ShortCommand(p), " ")
	if i := strings.LastIndexByte(command, '/'); i >= 0 {
		command = command[i+1:]
	}
	return strings.TrimSuffix(command, "_launcher")
}

// UserName is a process's user, "?" where nobody knows.
func UserName(p *snapshot.Process) string {
	if p.User == "" {
		return "?"
	}
	return text.Clean(Limit(p.User))
}
