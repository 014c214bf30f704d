package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
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

// Advice is what to do next, in lines.
func (f *failure) Advice() []string { return f.advice }

// Unwrap gives the cause.
func (f *failure) Unwrap() error { return f.err }

// usage is the failure of a command line that is not valid.
func usage(format string, args ...any) *failure {
	return &failure{code: exitUsage, message: fmt.Sprintf(format, args...)}
}

// report writes an error, and returns its exit code.
func report(w io.Writer, err error) int {
	if s := (*silent)(nil); errors.As(err, &s) {
		return s.code
	}
	f := &failure{code: exitCode(err), message: err.Error()}
	errors.As(err, &f)
	var b strings.Builder
	b.WriteString("vramscope: " + strings.TrimRight(f.message, "\n") + "\n")
	for _, line := range f.advice {
		b.WriteString(line + "\n")
	}
	_, _ = io.WriteString(w, b.String()) // standard error is where this would be reported
	return f.code
}

// silent ends the program with an exit code and no message.
type silent struct{ code int }

// Error implements error.
func (s *silent) Error() string { return fmt.Sprintf("exit code %d", s.code) }

// exitCode is an error's exit code.
func exitCode(err error) int {
	var f *failure
	var s *silent
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &s):
		return s.code
	case errors.As(err, &f):
		return f.code
	}
	// A crash of the screen has its own exit code.
	var crash interface {
		error
		ExitCode() int
	}
	if errors.As(err, &crash) {
		return crash.ExitCode()
	}
	return exitFailure
}
