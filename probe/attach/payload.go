package attach

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"vramscope/internal/install"
	"vramscope/probe/agent"
)

//go:embed payload.py
var payloadSource []byte

// The files of a payload.
const (
	scriptName = "start.py" // for sys.remote_exec
	imageName  = "image"    // for gdb
	// debuggerName is gdb's output.
	debuggerName = "gdb"
	// claimName is the file that gives the right to start the probe. The process and this program
	// race to remove it: whichever removes it has the right.
	claimName = "claim"
	// failedName is a symbolic link whose target is the reason: one system call makes
	// it, which needs no file descriptor.
	failedName = "failed"
)

// payload is the code that a process is to run, and a private directory whose files tell the process
// and this program what the other has done.
type payload struct {
	directory string
	text      string // the code, in Python
	keep      bool   // gdb may still use the directory
	late      bool   // the process may run the script later
	withdrawn bool   // the process will not start the probe
}

// newPayload makes a payload. If remote is true, the process will open the script by its name. own is
// the status of this program. socket is the path on which the probe is to listen, or "". root is as
// in Plan.
func newPayload(remote bool, own *status, socket, root string) (*payload, error) {
	directory, err := makeDirectory(root)
	if err != nil {
		return nil, err
	}
	p := &payload{directory: directory}
	p.text = payloadText(directory, socket, remote, fmt.Sprintf("\nSeccomp:\t2\nSeccomp_filters:\t%d\n", own.filters)) // as in the status of a thread with as many filters as this program
	err = os.WriteFile(filepath.Join(p.directory, claimName), nil, 0o600)
	name := imageName // gdb needs this file later; its disk space is taken before the process stops
	if remote {
		name = scriptName
	}
	err = errors.Join(err, os.WriteFile(filepath.Join(p.directory, name), []byte(p.text), 0o600))
	if err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

// makeDirectory makes a payload's directory. The process and this program use the same path for it.
// It stays if this program is killed.
func makeDirectory(root string) (string, error) {
	temporary := os.TempDir()
	if root != "" {
		temporary = "/tmp"
	}
	temporary, err := install.TrustedBelow(root, temporary)
	temporary = root + temporary
	if err != nil {
		return "", fmt.Errorf("temporary directory: %w; or set TMPDIR to a directory of your own", err)
	}
	directory, err := os.MkdirTemp(temporary, "vramscope-attach-*") // mode 0700
	if err != nil {
		return "", fmt.Errorf("make a directory in %s: %w", filepath.Clean(temporary), err)
	}
	return directory, nil
}

// payloadText returns the Python code, which sets no global name in the program. An interrupt that
// comes meanwhile is meant for the program, so a thread repeats the signal.
func payloadText(directory, socket string, remote bool, seccomp string) string {
	truth := map[bool]string{false: "False", true: "True"}
	return "try:\n (lambda b: b.exec(b.compile(" + pythonBytes(slices.Concat(agent.Library(), payloadSource)) +
		`, '<vramscope attach>', 'exec', 0, True), {'__name__': 'vramscope_attach', '__builtins__': b, 'directory': ` +
		pythonBytes([]byte(directory+"/")) + `, 'path': ` + pythonBytes([]byte(socket)) + `, 'remote': ` + truth[remote] +
		`, 'seccomp': ` + pythonBytes([]byte(seccomp)) + `, 'source': ` + pythonBytes(agent.Source()) + `}))(__import__('builtins'))
except KeyboardInterrupt:
 (lambda p: __import__('_thread').start_new_thread(p.kill, (p.getpid(), 2)))(__import__('posix'))
except BaseException:
 pass
`
}

func pythonBytes(content []byte) string {
	var b strings.Builder
	b.WriteString("b'")
	for _, c := range content {
		switch {
		case c == '\n':
			b.WriteString(`\n`)
		case c < ' ' || c > '~' || c == '\'' || c == '\\':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

func (p *payload) begun() bool {
	_, err := os.Lstat(filepath.Join(p.directory, claimName))
	return !p.withdrawn && errors.Is(err, os.ErrNotExist)
}

// withdraw takes back the right to start the probe. If it returns true, the process does not start
// the probe later.
func (p *payload) withdraw() bool {
	p.withdrawn = p.withdrawn || os.Remove(filepath.Join(p.directory, claimName)) == nil
	return p.withdrawn
}

// failure returns the payload's error in the process, or "".
func (p *payload) failure() string {
	reason, err := os.Readlink(filepath.Join(p.directory, failedName))
	if err != nil {
		return ""
	}
	return firstLines(strings.ToValidUTF8(reason, "?"))
}

// remove removes the payload, except files that may still be read. A late run of it does nothing.
func (p *payload) remove() {
	withdrawn := p.withdraw()
	switch {
	case p.keep: // gdb's files stay
		_ = os.Remove(filepath.Join(p.directory, scriptName)) // only the other method has a script
	case p.late && withdrawn: // an empty script stays
		_ = os.Truncate(filepath.Join(p.directory, scriptName), 0)
	default:
		_ = os.RemoveAll(p.directory) // private to this user
	}
}
