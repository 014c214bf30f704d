//go:build !linux || !cgo

package cuda

import (
	"context"
	"fmt"
	"io"

	"vramscope/probe"
)

// Process is the type in a build that cannot load a driver. There is never one.
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

// Hello implements probe.Handler.
func (p *Process) Hello() probe.Hello { return probe.Hello{} }

// Stats implements probe.Handler.
func (p *Process) Stats(context.Context) (probe.Report, error) { return probe.Report{}, ErrNoCgo }

// Flush implements probe.Handler.
func (p *Process) Flush(context.Context, probe.FlushRequest) (probe.FlushResult, error) {
	return probe.FlushResult{}, ErrNoCgo
}

// Snapshot implements probe.Handler.
func (p *Process) Snapshot(context.Context, probe.SnapshotRequest, io.Writer) (probe.SnapshotResult, error) {
	return probe.SnapshotResult{}, ErrNoCgo
}
