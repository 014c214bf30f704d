package attach

import (
	"cmp"
	"context"
	"os/exec"
	"strings"
	"time"
	"unicode"
)

// checkGdb finds gdb and runs it for its version, once for each path.
func (a *Attacher) checkGdb(ctx context.Context, plan *Plan) {
	path, err := exec.LookPath(cmp.Or(a.options.Gdb, "gdb"))
	if err != nil {
		plan.fail("no gdb on PATH, which Python " + plan.Version + " needs: apt install gdb (or dnf)")
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	check, asked := a.gdbChecks[path]
	if !asked {
		check = askGdb(ctx, path, a.answerTime)
		if ctx.Err() == nil {
			a.gdbChecks[path] = check
		}
	}
	plan.gdb = path
	plan.Checks = append(plan.Checks, check)
}

func askGdb(ctx context.Context, path string, timeout time.Duration) Check {
	out, err := output(ctx, timeout, cleanEnvironment(), path, "-nx", "--version")
	if err != nil {
		return Check{false, path + " does not start: " + firstLines(err.Error()+": "+out)}
	}
	return Check{true, strings.TrimSpace("gdb "+gdbVersion(out)) + " at " + path}
}

// gdbVersion is the last word of "GNU gdb (Debian 13.1-3) 13.1".
func gdbVersion(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	line = strings.TrimSpace(line)
	last := line[strings.LastIndexByte(line, ' ')+1:]
	if last == "" || !unicode.IsDigit(rune(last[0])) {
		return ""
	}
	return last
}
