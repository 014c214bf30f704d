package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"vramscope/internal/text"
)

// The exit codes. 9 and 12 are those of nvidia-smi.
const (
	exitOK        = 0
	exitFailure   = 1
	exitUsage     = 2
	exitRefused   = 3 // an action on a process: nothing was done
	exitNoDriver  = 9
	exitNoLibrary = 12
)

// failure is an error for the user, with its exit code and what to do next.
type failure struct {
	code    int
	message string
	advice  []string // lines below the message, as they stand
	err     error    // the cause, for errors.Is
}

// Error implements error. It is the message alone.
func (f *failure) Error() string { return f.message }

func (f *failure) ExitCode() int { return f.code }

// Advice is what to do next, in lines.
func (f *failure) Advice() []string { return f.advice }

func (f *failure) Unwrap() error { return f.err }

func usage(format string, args ...any) *failure {
	return &failure{code: exitUsage, message: fmt.Sprintf(format, args...)}
}

// report writes an error, and returns its exit code.
func report(w io.Writer, err error) int {
	code := exitCode(err)
	if _, ok := errors.AsType[*silent](err); ok {
		return code
	}
	f, ok := errors.AsType[*failure](err)
	if !ok {
		f = &failure{message: err.Error()}
	}
	lines := append(strings.Split("vramscope: "+strings.TrimRight(f.message, "\n"), "\n"), f.advice...)
	for i := range lines {
		lines[i] = text.Clean(lines[i])
	}
	_, _ = io.WriteString(w, strings.Join(lines, "\n")+"\n") // standard error is where this would be reported
	return code
}

// silent ends the program with an exit code and no message.
type silent struct{ code int }

func (s *silent) Error() string { return fmt.Sprintf("exit code %d", s.code) }

func (s *silent) ExitCode() int { return s.code }

// coded is a failure, a silent end, or a crash of the screen.
type coded interface {
	error
	ExitCode() int
}

func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if c, ok := errors.AsType[coded](err); ok {
		return c.ExitCode()
	}
	return exitFailure
}
