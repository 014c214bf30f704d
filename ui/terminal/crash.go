package terminal

import (
	"fmt"
	"runtime/debug"
	"sync"

	tea "charm.land/bubbletea/v2"
)

// Crash is a panic in the program's code. When Run returns it, the terminal is restored.
type Crash struct {
	Value any
	Stack []byte
}

func (c *Crash) Error() string {
	return fmt.Sprintf("internal error: %v\n\n%s", c.Value, c.Stack)
}

func (c *Crash) ExitCode() int { return 2 }

// crashes keeps the first panic, and ends the program for it.
type crashes struct {
	end  func(error)
	once sync.Once
}

// caught is deferred around the code of the model, of the feed and of commands: an uncaught panic would leave the
// terminal in raw mode.
func (c *crashes) caught() {
	if value := recover(); value != nil {
		crash := &Crash{Value: value, Stack: debug.Stack()}
		c.once.Do(func() { c.end(crash) })
	}
}

// guarded makes a panic in a command end the program like one in Update.
func (c *crashes) guarded(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		defer c.caught()
		msg := cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = c.guarded(batch[i])
			}
		}
		return msg
	}
}
