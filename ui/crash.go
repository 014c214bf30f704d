package ui

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// Crash is a panic in the program's code. By the time it is returned the
// terminal has been restored; whoever gets it prints it and exits with 2, as
// an ordinary panic would.
type Crash struct {
	Value any
	Stack []byte
}

// Error gives the panic and the stack it came from.
func (c *Crash) Error() string {
	return fmt.Sprintf("internal error: %v\n\n%s", c.Value, c.Stack)
}

// ExitCode is what the process should end with.
func (c *Crash) ExitCode() int { return 2 }

// crashes keeps the first panic, and ends the program for it.
type crashes struct {
	end  func(error)
	once sync.Once
}

// caught is deferred by every goroutine and every entry into the model: a
// panic that went on would leave the terminal in raw mode.
func (c *crashes) caught() {
	if value := recover(); value != nil {
		crash := &Crash{Value: value, Stack: debug.Stack()}
		c.once.Do(func() { c.end(crash) })
	}
}
