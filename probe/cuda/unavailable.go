//go:build !linux || !cgo

package cuda

import (
	"context"
	"fmt"
)

// Process is the type in a build that cannot load a driver. There is never one: its
// methods are not called.
type Process struct{}

// Start fails with ErrNoCgo.
func Start(context.Context, Options) (*Process, error) {
	return nil, fmt.Errorf("cuda: start: %w", ErrNoCgo)
}

// Device returns the zero Device.
func (p *Process) Device() Device { return Device{} }

// Run fails with ErrNoCgo.
func (p *Process) Run(context.Context) error { return ErrNoCgo }

// Figures returns the zero Figures.
func (p *Process) Figures() Figures { return Figures{} }

// Close does nothing.
func (p *Process) Close(context.Context) error { return nil }
