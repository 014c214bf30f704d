//go:build !linux || !cgo

package nvml

import "fmt"

// Library stands in for the driver's library in a build that cannot load it. Open and Read fail
// with ErrNoCgo, so that such a build is not mistaken for a box without a driver.
type Library struct{}

func New(Options) *Library { return &Library{} }

func (l *Library) Open() (Driver, []Device, error) {
	return Driver{}, nil, fmt.Errorf("nvml: open: %w", ErrNoCgo)
}

func (l *Library) Read(device Device) (Reading, error) {
	return Reading{Device: device}, fmt.Errorf("nvml: read GPU %d: %w", device.Index, ErrNoCgo)
}

func (l *Library) Complete()                  {}
func (l *Library) Details(bool)               {}
func (l *Library) WithoutProcesses()          {}
func (l *Library) Close() error               { return nil }
func (l *Library) Capabilities() []Capability { return nil }
func (l *Library) NeedsRestart(error) bool    { return false }
