package attach

import (
	"context"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// checkGdb finds gdb and runs it for its version and for what it can do, once for each path.
func (a *Attacher) checkGdb(ctx context.Context, plan *Plan) {
	path, err := exec.LookPath(a.gdb)
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
	name := strings.TrimSpace("gdb " + gdbVersion(out))
	if !writesRegisters(ctx, path, timeout) {
		return Check{false, name + " cannot write registers on this processor: a newer gdb is needed"}
	}
	return Check{true, name + " at " + path}
}

// writesRegisters returns false if gdb fails to write a register of a shell that is stopped at its
// first instruction. If gdb cannot start the shell it returns true: checkRegisters checks again.
func writesRegisters(ctx context.Context, path string, timeout time.Duration) bool {
	out, _ := output(ctx, timeout, cleanEnvironment(), path, "-nx", "-nh", "-q", "-batch", "-iex", "set auto-load no",
		"-iex", "set debuginfod enabled off", "-ex", "set startup-with-shell off", "-ex", "starti",
		"-ex", "set $xmm15.v4_int32[3] = 1", "-ex", "kill", "/bin/sh") // gdb's exit status does not say whether a command failed
	return !strings.Contains(out, notWritten)
}

// gdbVersion returns the last word of "GNU gdb (Debian 13.1-3) 13.1", or "" if it is no version.
func gdbVersion(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	line = strings.TrimSpace(line)
	last := line[strings.LastIndexByte(line, ' ')+1:]
	if last == "" || !unicode.IsDigit(rune(last[0])) {
		return ""
	}
	return last
}

// complaint returns gdb's reason for a failure: the kernel's error, or the last line of the output.
func complaint(output string) string {
	last := "gdb gives no reason"
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(strings.ReplaceAll(line, "(gdb)", ""))
		if strings.HasPrefix(line, "ptrace: ") {
			return firstLines(line)
		}
		if line != "" {
			last = line
		}
	}
	return firstLines(last)
}

// These patterns are compiled on first use, because every command of vramscope loads this package.
var (
	foundThread   = pattern(`(?m)^(?:\(gdb\) )*Thread (\d+) has target id '(?:process |LWP |.*\(LWP )(\d+)\)?'`)
	mappedPage    = pattern(`page (0x[0-9a-f]+)\b`)
	startedThread = pattern(`started (0|[1-9][0-9]*)\b`)
	pythonRuns    = pattern(`runs (0|[1-9][0-9]*)\b`)
)

func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// numberAfter returns the number that gdb has printed after a word, decimal or with 0x.
func numberAfter(word *regexp.Regexp, output string) (uint64, bool) {
	match := word.FindStringSubmatch(output)
	if match == nil {
		return 0, false
	}
	n, err := strconv.ParseUint(match[1], 0, 63)
	return n, err == nil
}

// numberOf returns gdb's own number for a thread, from its list of all threads.
func numberOf(chosen thread, output string) string {
	for _, match := range foundThread().FindAllStringSubmatch(output, -1) {
		if match[2] == strconv.Itoa(chosen.id) {
			return match[1]
		}
	}
	return ""
}
