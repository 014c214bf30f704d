package launch

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"vramscope/internal/bounded"
	"vramscope/internal/text"
	"vramscope/probe/preload"
)

// Command describes a command before it is started.
type Command struct {
	Name    string
	path    string
	python  bool   // it is a Python interpreter, or a script for one
	Refusal string // why there will be no probe: it is setuid, or a Python that is too old; "" if nothing is known
}

// Inspect finds out whether a command runs Python, and why a probe cannot start in it.
func Inspect(path string, command []string) Command {
	s := Command{Name: filepath.Base(path), path: path}
	if why := preload.Setuid(path); why != "" {
		s.Refusal = text.Clean(s.Name) + ": " + why + ": PYTHONPATH would be ignored there"
	}
	arguments := command[1:]
	for range 3 { // the interpreter of a script can be env, whose command can be a script again
		if isPython(path) {
			s.python = true
			if old := oldPython(path); old != "" && s.Refusal == "" {
				s.Refusal = text.Clean(s.Name) + ": Python " + old + ": the probe needs 3.8 or newer"
			}
			return s
		}
		interpreter := shebang(path)
		if filepath.Base(path) == "env" {
			interpreter = afterEnv(arguments)
		}
		if len(interpreter) == 0 {
			return s
		}
		found, err := exec.LookPath(interpreter[0])
		if err != nil {
			return s
		}
		path, arguments = found, interpreter[1:]
	}
	return s
}

// isPython reports whether a file has the name of an interpreter: python, python3.11, pypy3.
func isPython(path string) bool {
	name := filepath.Base(path)
	for _, prefix := range []string{"python", "pypy"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && strings.Trim(rest, "0123456789.td") == "" {
			return true
		}
	}
	return false
}

// oldPython returns an interpreter's version, as its file is named, if the probe does not support it; else "".
func oldPython(path string) string {
	if file, err := filepath.EvalSymlinks(path); err == nil {
		path = file
	}
	version := strings.TrimRight(strings.TrimPrefix(filepath.Base(path), "python"), "dm")
	major, minor, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(minor)
	if major == "2" || major == "3" && err == nil && n < 8 {
		return version
	}
	return ""
}

// shebang returns the words of a script's interpreter line, nil if there is none.
func shebang(path string) []string {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }() // nothing was written
	content, err := bounded.First(file, 256)
	if err != nil {
		return nil
	}
	return parseShebang(content)
}

func parseShebang(content []byte) []string {
	line, _, _ := bytes.Cut(content, []byte("\n"))
	rest, ok := bytes.CutPrefix(line, []byte("#!"))
	if !ok {
		return nil
	}
	return strings.Fields(string(rest))
}

func afterEnv(arguments []string) []string {
	for i, argument := range arguments {
		switch {
		case strings.HasPrefix(argument, "-S"):
			return append(strings.Fields(argument[2:]), arguments[i+1:]...)
		case strings.HasPrefix(argument, "-"), strings.Contains(argument, "="):
		default:
			return arguments[i:]
		}
	}
	return nil
}

// Preloading has the flags that decide whether a command gets the native probe.
type Preloading struct {
	Wanted, Unwanted bool // --preload, --no-preload
	Rescue           bool // --rescue
}

// Decide returns whether the native probe goes into LD_PRELOAD, and if not, why. Shells and other
// launchers get it for the programs that they start. Python has a probe of its own, which knows more.
func (f Preloading) Decide(c *Command) (yes bool, why string) {
	switch {
	case f.Unwanted:
		return false, "--no-preload"
	case c.python && !f.Wanted:
		return false, "Python has its own probe"
	}
	path := c.path
	if interpreter := shebang(path); len(interpreter) > 0 {
		path = interpreter[0]
	}
	why = preload.Obstacle(path)
	return why == "", why
}

// NativeObstacle returns why a running process cannot have the native probe, "" if it can or runs Python.
func NativeObstacle(pid int) string {
	path := fmt.Sprintf("/proc/%d/exe", pid)
	if target, err := os.Readlink(path); err != nil || isPython(target) {
		return ""
	}
	return preload.Obstacle(path)
}
