package bounded

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// Command is a program that is run for its output.
type Command struct {
	Path      string
	Arguments []string
	Environ   []string
	Directory string // "": this program's
	Input     []byte
	System    *syscall.SysProcAttr // nil: with this program's rights
	Time      time.Duration        // after this time the command is killed with its process group
	Limit     int                  // bytes of output that are kept; standard error counts too
}

// closeDelay is how long another process may keep the output open after the command has ended.
const closeDelay = 100 * time.Millisecond

// Output runs the command. It may return output together with an error. When the context or the
// command's time ends, the command and its process group are killed.
func (c *Command) Output(ctx context.Context) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, c.Time)
	defer cancel()
	cmd := exec.CommandContext(limited, c.Path, c.Arguments...)
	output := NewBuffer(c.Limit)
	cmd.Stdout, cmd.Stderr = output, output
	if c.Input != nil {
		cmd.Stdin = bytes.NewReader(c.Input)
	}
	cmd.Env, cmd.Dir = c.Environ, c.Directory
	cmd.SysProcAttr = cmp.Or(c.System, &syscall.SysProcAttr{})
	cmd.SysProcAttr.Setsid = true // the command gets no controlling terminal
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = closeDelay
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrWaitDelay) && limited.Err() == nil:
		err = nil // the command has ended, but a child of it still runs
	case err != nil && ctx.Err() != nil:
		err = ctx.Err()
	case err != nil && limited.Err() != nil:
		err = fmt.Errorf("it did not end in %s and was killed", c.Time)
	}
	return output.Bytes(), err
}
