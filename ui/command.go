package ui

import (
	"strings"

	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

// commandLimit is how much of a command line a row ever needs; a hostile one
// has megabytes. All of it is in the detail.
const commandLimit = 2048

// shortCommand is a process's command for a row: without interpreter, flags
// and directories, fit to be shown.
func shortCommand(p *snapshot.Process) string {
	if p.ID.Process.Foreign() {
		return "pid of another container"
	}
	return clean(limited(process.ShortCommand(limitedArguments(p.Command), limited(p.Name))))
}

// commandCache remembers short commands by the argument list they were made
// of: a row's list is the same one from snapshot to snapshot, and a frame
// shows dozens. The list is kept alive by its key, so its address cannot come
// to mean another one.
type commandCache map[*string]string

// commandsKept is more than any screen shows; beyond it the cache starts anew.
const commandsKept = 4096

// shortCommand is shortCommand out of the cache.
func (lk *look) shortCommand(p *snapshot.Process) string {
	if len(p.Command) == 0 || p.ID.Process.Foreign() {
		return shortCommand(p)
	}
	if text, ok := lk.commands[&p.Command[0]]; ok {
		return text
	}
	if lk.commands == nil || len(lk.commands) >= commandsKept {
		lk.commands = make(commandCache)
	}
	text := shortCommand(p)
	lk.commands[&p.Command[0]] = text
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
		short[i] = limited(argument)
		return short
	}
	return arguments
}

// limited cuts what no screen can show. The cut may split a rune; clean
// takes the remains.
func limited(text string) string {
	if len(text) > commandLimit {
		return text[:commandLimit]
	}
	return text
}

// programName is a process's program in one word, without what only says that
// it was launched.
func (lk *look) programName(p *snapshot.Process) string {
	command, _, _ := strings.Cut(lk.shortCommand(p), " ")
	if i := strings.LastIndexByte(command, '/'); i >= 0 {
		command = command[i+1:]
	}
	return strings.TrimSuffix(command, "_launcher")
}

// userName is a process's user, "?" where nobody knows.
func userName(p *snapshot.Process) string {
	if p.User == "" {
		return "?"
	}
	return clean(limited(p.User))
}
