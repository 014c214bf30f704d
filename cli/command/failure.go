package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"vramscope/internal/text"
)

// The exit codes. 9 and 12 have the meaning that nvidia-smi gives them.
const (
	ExitOK        = 0
	ExitFailure   = 1
	ExitUsage     = 2
	ExitRefused   = 3 // an action on a process: nothing was done
	ExitNoDriver  = 9
	ExitNoLibrary = 12

	ExitInterrupted = 130 // as a shell reports a program that Ctrl-C has ended
)

// Failure is an error for the user, with an exit code and advice.
type Failure struct {
	Code    int
	Message string
	Next    []string // advice, in lines below the message
	Err     error    // the cause, for errors.Is
}

func (f *Failure) Error() string { return f.Message }
func (f *Failure) ExitCode() int { return f.Code }
func (f *Failure) Unwrap() error { return f.Err }

// Usage returns a failure of the command line or of the configuration.
func Usage(format string, args ...any) *Failure {
	return &Failure{Code: ExitUsage, Message: fmt.Sprintf(format, args...)}
}

// Fail returns a failure made like fmt.Errorf's error; %w names its cause.
func Fail(format string, args ...any) *Failure {
	err := fmt.Errorf(format, args...)
	return &Failure{Code: ExitFailure, Message: err.Error(), Err: errors.Unwrap(err)}
}

// Then adds lines to Next.
func (f *Failure) Then(next ...string) *Failure {
	f.Next = append(f.Next, next...)
	return f
}

// Failed returns a failure with the message of err.
func Failed(err error) *Failure {
	return &Failure{Code: ExitFailure, Message: text.Clean(err.Error()), Err: err}
}

// Report writes an error, unless it is a Silent, and returns its exit code.
func Report(w io.Writer, err error) int {
	code := ExitCode(err)
	if _, ok := errors.AsType[*Silent](err); ok {
		return code
	}
	f, ok := errors.AsType[*Failure](err)
	if !ok {
		f = &Failure{Message: err.Error()}
	}
	lines := append(strings.Split("vramscope: "+strings.TrimRight(f.Message, "\n"), "\n"), f.Next...)
	for i := range lines {
		lines[i] = text.Clean(lines[i])
	}
	_, _ = io.WriteString(w, strings.Join(lines, "\n")+"\n") // there is no other place to report a failure
	return code
}

// Silent ends the program with an exit code and no message.
type Silent struct{ Code int }

func (s *Silent) Error() string { return fmt.Sprintf("exit code %d", s.Code) }
func (s *Silent) ExitCode() int { return s.Code }

// coded is an error with an exit code of its own: Failure, Silent or terminal.Crash.
type coded interface {
	error
	ExitCode() int
}

// ExitCode returns the exit code for the error of a command, which can be nil.
func ExitCode(err error) int {
	if err == nil {
		return ExitOK
	}
	if c, ok := errors.AsType[coded](err); ok {
		return c.ExitCode()
	}
	return ExitFailure
}

// Refused returns the failure of an action that was not done.
func Refused(err error, format string, args ...any) *Failure {
	return &Failure{Code: ExitRefused, Err: err, Message: "refused: " + strings.TrimPrefix(fmt.Sprintf(format, args...), "refused: ")}
}

// WithoutPath returns an error without the operation and the file's name, if it has them.
func WithoutPath(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Err
	}
	return err
}
