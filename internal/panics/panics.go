package panics

import (
	"fmt"
	"runtime/debug"
)

// Caught is a recovered panic with the stack that it happened on.
type Caught struct {
	value any
	stack []byte
}

// Catch takes what recover returned. It returns nil if there was no panic. A panic that was caught
// before keeps its first stack.
func Catch(value any) *Caught {
	if value == nil {
		return nil
	}
	if c, ok := value.(*Caught); ok {
		return c
	}
	return &Caught{value: value, stack: debug.Stack()}
}

// To is deferred. It passes a panic to failed, as an error that says what panicked.
func To(failed func(error), what string) {
	if c := Catch(recover()); c != nil {
		failed(fmt.Errorf("%s: panic: %w", what, c))
	}
}

// Of returns what f returns, or its panic.
func Of[T any](f func() T) (value T, caught *Caught) {
	defer func() { caught = Catch(recover()) }()
	return f(), nil
}

// Again panics again with a caught panic; on nil it does nothing.
func (c *Caught) Again() {
	if c != nil {
		panic(c)
	}
}

// Error returns the panic with its stack.
func (c *Caught) Error() string { return fmt.Sprintf("%v\n%s", c.value, c.stack) }
