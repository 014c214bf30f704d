package ui

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// Crash is a panic in the program's code. When Run returns it, the terminal is restored.
type Crash struct {
	Value any
	Stack []byte
}

// Error is the panic and its stack.
func (c *Crash) Error() string {
	return fmt.Sprintf("internal error: %v\n\n%s", c.Value, c.Stack)
}

// ExitCode is the exit code of the process.
func (c *Crash) ExitCode() int { return 2 }

// crashes keeps the first panic, and ends the program for it.
type crashes struct {
	end  func(error)
	once sync.Once
}

// caught is deferred by all goroutines: a panic would leave the terminal in raw mode.
func (c *crashes) caught() {
	if value := recover(); value != nil {
		crash := &Crash{Value: value, Stack: debug.Stack()}
		c.once.Do(func() { c.end(crash) })
	}
}
