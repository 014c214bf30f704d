package attach

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"vramscope/probe/agent"
)

//go:embed payload.py
var payloadSource []byte

// The files of a payload. The last two are written by the process.
const (
	payloadName = "payload.py"
	agentName   = "vramscope_probe.py"
	scriptName  = "start.py"
	imageName   = "image"
	// debuggerName is what gdb writes.
	debuggerName = "gdb"
	startedName  = "started"
	failedName   = "failed"
)

// payload is a directory, for this user alone, with what the process is to run.
type payload struct {
	directory string
	keep      bool   // something may still use it
	late      string // the script, where Python may come to it later
}

// newPayload writes a payload. The target is the process that may come to the
// script by its name, where there is one.
func newPayload(target born) (*payload, error) {
	directory, err := makeDirectory(target)
	if err != nil {
		return nil, err
	}
	p := &payload{directory: directory}
	err = errors.Join(
		os.WriteFile(filepath.Join(p.directory, payloadName), payloadSource, 0o600),
		os.WriteFile(filepath.Join(p.directory, agentName), agent.Source(), 0o600),
		os.WriteFile(filepath.Join(p.directory, scriptName), []byte(p.text()), 0o600),
	)
	if err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

// text is the little Python that the process is given, which runs the payload
// if that is still there. It touches no name of the program's, and the path is
// spelt so that nothing in it can be anything but a path.
func (p *payload) text() string {
	var path strings.Builder
	for _, b := range []byte(p.directory + "/") {
		fmt.Fprintf(&path, `\x%02x`, b)
	}
	return `try:
 (lambda b, d: b.exec(b.compile(b.open(d + b'` + payloadName + `', encoding='utf-8').read(), '<vramscope attach>', 'exec'), {'__name__': 'vramscope_attach', '__builtins__': b, 'directory': d}))(__import__('builtins'), b'` + path.String() + `')
except BaseException:
 pass
`
}

// started reports whether the payload has done its part.
func (p *payload) started() bool {
	_, err := os.Stat(filepath.Join(p.directory, startedName))
	return err == nil
}

// failure is what the payload says went wrong in the process, "" if nothing has.
func (p *payload) failure() string {
	content, err := os.ReadFile(filepath.Join(p.directory, failedName))
	if err != nil {
		return ""
	}
	return firstLines(strings.ToValidUTF8(string(content), "?"))
}

// withdraw takes away what the process would run, and leaves gdb its files.
func (p *payload) withdraw() {
	for _, name := range []string{payloadName, agentName, scriptName} {
		_ = os.Remove(filepath.Join(p.directory, name)) // as remove does
	}
}

// remove takes everything away. What comes to it late finds nothing, and does
// nothing.
func (p *payload) remove() {
	switch {
	case p.keep:
		p.withdraw()
	case p.late != "" && !p.started() && p.failure() == "":
		p.empty()
	default:
		_ = os.RemoveAll(p.directory) // what is left is in the temporary directory, for this user alone
	}
}
