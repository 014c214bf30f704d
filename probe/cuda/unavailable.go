//go:build !linux || !cgo

package cuda

import (
	"context"
	"fmt"
)

// Process is the type in a build that cannot load a driver. Start never returns one, so its methods
// are not called.
type Process struct{}

// Start fails with ErrNoCgo.
func Start(Options) (*Process, error) {
	return nil, fmt.Errorf("cuda: start: %w", ErrNoCgo)
}

func (p *Process) Device() Device            { return Device{} }
func (p *Process) Run(context.Context) error { return ErrNoCgo }
func (p *Process) Close() error              { return nil }
