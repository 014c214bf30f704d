package attach

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"vramscope/internal/process"
	"vramscope/probe/agent"
)

//go:embed payload.py
var payloadSource []byte

// The files of a payload. The process writes the last two.
const (
	payloadName = "payload.py"
	agentName   = "vramscope_probe.py"
	scriptName  = "start.py"
	imageName   = "image"
	// debuggerName is gdb's output.
	debuggerName = "gdb"
	startedName  = "started"
	failedName   = "failed"
)

// payload is a private directory with the code that the process is to run.
type payload struct {
	directory string
	keep      bool // gdb may still use it
	late      bool // the process may run the script later
}

// newPayload writes a payload. The target is the process that will open the script
// by its name, if any.
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

// text is the Python code that runs the payload if it still exists. It sets no name
// of the program, and escapes every byte of the path.
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

// started reports whether the payload has started the probe.
func (p *payload) started() bool {
	_, err := os.Stat(filepath.Join(p.directory, startedName))
	return err == nil
}

// failure is the payload's error in the process, or "".
func (p *payload) failure() string {
	content, err := process.ReadLimited(filepath.Join(p.directory, failedName), 4<<10)
	if err != nil {
		return ""
	}
	return firstLines(strings.ToValidUTF8(string(content), "?"))
}

// remove removes the payload. A process that runs the text later does nothing.
func (p *payload) remove() {
	switch {
	case p.keep: // gdb's files
		for _, name := range []string{payloadName, agentName, scriptName} {
			_ = os.Remove(filepath.Join(p.directory, name))
		}
	case p.late && !p.started() && p.failure() == "": // everything but an empty script
		for _, name := range payloadFiles {
			if name != scriptName {
				_ = os.Remove(filepath.Join(p.directory, name)) // most do not exist
			}
		}
		_ = os.Truncate(filepath.Join(p.directory, scriptName), 0) // without the payload it does nothing
	default:
		_ = os.RemoveAll(p.directory) // leftovers are private to this user
	}
}
