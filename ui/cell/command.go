package cell

import (
	"cmp"
	"strings"

	"vramscope/internal/process"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// commandLimit is how many bytes of a command line are read: hostile command lines have megabytes.
const commandLimit = 2048

// ShortCommand returns the cleaned command without interpreter, its flags and directories, or why it is not known.
func ShortCommand(p *snapshot.Process) string {
	switch {
	case p.ID.Process.Hidden():
		return "hidden: another user's"
	case p.ID.Process.Foreign():
		return "pid of another container"
	}
	return text.Clean(Limit(process.ShortCommand(limitedArguments(p.Command), Limit(p.Name))))
}

// commandCache keeps short commands by the address of the first argument, which snapshots share until the command line is
// read again. An address that is a key is not reused.
type commandCache map[*string]string

const commandsKept = 4096

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

func limitedArguments(arguments []string) []string {
	total := 0
	for i, argument := range arguments {
		if total += len(argument); total <= commandLimit {
			continue
		}
		return append(arguments[:i:i], Limit(argument))
	}
	return arguments
}

// Limit cuts text at commandLimit, even within a rune, which text.Clean then replaces.
func Limit(text string) string {
	if len(text) > commandLimit {
		return text[:commandLimit]
	}
	return text
}

// ProgramName returns the program of a process in one word, without "_launcher".
func (a *Appearance) ProgramName(p *snapshot.Process) string {
	command, _, _ := strings.Cut(a.ShortCommand(p), " ")
	return strings.TrimSuffix(command[strings.LastIndexByte(command, '/')+1:], "_launcher")
}

// UserName returns the cleaned user of a process, "?" where unknown.
func UserName(p *snapshot.Process) string {
	return text.Clean(Limit(cmp.Or(p.User, "?")))
}
