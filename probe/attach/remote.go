package attach

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"vramscope/internal/process"
)

// Since Python 3.14, an interpreter of the same version and build can make a
// process run a script at its next safe point. The process's own interpreter does that.
// Source: https://docs.python.org/3.14/library/sys.html#sys.remote_exec
const (
	askEnabled = `import sys; print(hasattr(sys, "remote_exec") and sys.is_remote_debug_enabled())`
	remoteCall = `import sys; sys.remote_exec(int(sys.argv[1]), sys.argv[2])`
)

// checkRemoteExec asks the process's own interpreter whether it has sys.remote_exec, and checks
// whether the process was started with that disabled.
func (a *Attacher) checkRemoteExec(ctx context.Context, plan *Plan, info *process.Info) {
	plan.Method = RemoteExec
	switch reason := a.remoteForbidden(ctx, info); {
	case reason != "":
		plan.fail(reason)
	case !isPythonName(base(plan.Interpreter)):
		plan.fail("Python " + plan.Version + " is embedded in " + base(plan.Interpreter) + ": sys.remote_exec needs an interpreter of the same build")
	default:
		out, err := a.askInterpreter(ctx, plan, askEnabled)
		switch {
		case err != nil:
			plan.fail("its interpreter does not run: " + firstLines(err.Error()))
		case strings.TrimSpace(out) != "True":
			plan.fail("its Python " + plan.Version + " was built without sys.remote_exec")
		default:
			plan.pass("sys.remote_exec of its own Python")
		}
	}
}

// remoteForbidden returns what disabled sys.remote_exec when the process started, or "". Source:
// https://docs.python.org/3.14/using/cmdline.html#envvar-PYTHON_DISABLE_REMOTE_DEBUG
func (a *Attacher) remoteForbidden(ctx context.Context, info *process.Info) string {
	if disables(info.Command) {
		return "it was started with -X disable_remote_debug"
	}
	if a.variable(ctx, info.Identity.PID, "PYTHON_DISABLE_REMOTE_DEBUG") != "" {
		return "it was started with PYTHON_DISABLE_REMOTE_DEBUG"
	}
	return ""
}

// disables reports whether a command line has -X disable_remote_debug for Python,
// before the script.
func disables(command []string) bool {
	for i, word := range command {
		option, ok := strings.CutPrefix(word, "-X")
		if ok && option == "" && i+1 < len(command) {
			option = command[i+1]
		}
		if option, _, _ = strings.Cut(option, "="); ok && option == "disable_remote_debug" {
			return true
		}
		if i > 0 && !strings.HasPrefix(word, "-") && !strings.HasPrefix(command[i-1], "-X") && !strings.HasPrefix(command[i-1], "-W") {
			return false // the script; what follows are its own arguments
		}
	}
	return false
}

// variable returns the value of an environment variable with which a process was started, or "".
func (a *Attacher) variable(ctx context.Context, pid int, name string) string {
	content, err := readProc(ctx, 1<<20, a.proc, strconv.Itoa(pid), "environ")
	if err != nil {
		return ""
	}
	return process.ValueOf([]byte(content), name)
}

// askInterpreter runs a line of Python with the process's own interpreter, isolated
// from the user's files and environment.
func (a *Attacher) askInterpreter(ctx context.Context, plan *Plan, line string, args ...string) (string, error) {
	program := a.runnable(plan.Process.PID, plan.Interpreter)
	if program == "" {
		return "", errors.New("it is not executable")
	}
	environment := cleanEnvironment()
	if path := a.variable(ctx, plan.Process.PID, "LD_LIBRARY_PATH"); path != "" {
		environment = append(environment, "LD_LIBRARY_PATH="+path) // it may not start without
	}
	out, err := output(ctx, a.answerTime, environment, program, append([]string{"-I", "-S", "-c", line}, args...)...)
	if err != nil {
		out = strings.TrimSpace(out)
		return "", fmt.Errorf("%w: %s", err, firstLines(out[strings.LastIndexByte(out, '\n')+1:]))
	}
	return out, nil
}

// remoteExec makes the process run the payload at its next safe point. It does not wait for that.
func (a *Attacher) remoteExec(ctx context.Context, plan *Plan, load *payload) error {
	script := filepath.Join(load.directory, scriptName)
	// Python would report a missing script in the program's own output, so remove
	// leaves an empty one.
	load.late = true
	if reason := a.hindrance(ctx, plan.Process.PID); reason != "" {
		load.late = false
		return &process.Refusal{Reason: reason}
	}
	if _, err := a.askInterpreter(ctx, plan, remoteCall, strconv.Itoa(plan.Process.PID), script); err != nil {
		load.late = false
		return fmt.Errorf("sys.remote_exec: %w", err)
	}
	return nil
}
