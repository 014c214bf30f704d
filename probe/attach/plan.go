package attach

import (
	"strings"

	"vramscope/internal/process"
	"vramscope/internal/text"
)

// Plan is how a probe could enter a process, or why not. Interpreter and Command
// are untrusted input.
type Plan struct {
	Process     process.Identity
	User        string
	Command     []string
	Interpreter string // path of the program: "/opt/conda/bin/python3.11"; "" if not Python
	Version     string // "3.11.9", "3.9" if no more is known
	Method      Method
	Checks      []Check
	Instead     string // the command line that starts the program with a probe, or ""
	HasProbe    bool   // a probe is there: no attaching is needed
	Note        string // what the program cannot do with a probe, or ""

	gdb    string  // the path of gdb
	root   string  // the process's root directory in /proc if it has mounts of its own, or ""
	python *python // nil if there is none, or it cannot be read
}

type Check struct {
	OK   bool
	Text string
}

// Possible reports whether nothing forbids attaching.
func (p *Plan) Possible() bool { return p.Refusal() == nil }

// Refusal returns every reason against attaching, nil if there is none.
func (p *Plan) Refusal() *process.Refusal {
	var reasons []string
	for _, check := range p.Checks {
		if !check.OK {
			reasons = append(reasons, check.Text)
		}
	}
	if len(reasons) == 0 && p.Method == None {
		reasons = []string{"no method is supported"}
	}
	if len(reasons) == 0 {
		return nil
	}
	return &process.Refusal{Reason: strings.Join(reasons, "; ")}
}

func (p *Plan) pass(text string) { p.Checks = append(p.Checks, Check{true, text}) }
func (p *Plan) fail(text string) { p.Checks = append(p.Checks, Check{false, text}) }

// instead returns a shell's command line that starts the program with a probe. It returns "" if
// command does not name a program: it may be a title, or Python may read standard input.
func instead(command []string) string {
	if len(command) == 0 || command[0] == "" || strings.ContainsAny(command[0], " \t\n:") {
		return ""
	}
	if isPythonName(base(command[0])) && !process.NamesProgram(command) {
		return ""
	}
	const limit = 400 // bytes; several times the width of a screen
	line := "vramscope run --"
	for _, word := range command {
		quoted := text.ShellQuote(word)
		if len(line)+len(quoted) > limit || strings.ContainsFunc(word, func(r rune) bool { return !text.Printable(r) }) {
			return line + " …"
		}
		line += " " + quoted
	}
	return line
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// isPythonName reports whether a program's name is a Python interpreter's:
// python, python3, python3.13t.
func isPythonName(name string) bool {
	rest, ok := strings.CutPrefix(name, "python")
	return ok && strings.Trim(rest, "0123456789.td") == ""
}
