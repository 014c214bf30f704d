//go:build !linux || !cgo

package nvml

import "fmt"

// Library is the driver's library in a build that cannot load it: every call
// fails with ErrNoCgo, so that this is not mistaken for a box without a driver.
type Library struct{}

// New makes a Library that cannot be opened.
func New(Options) *Library { return &Library{} }

// Open fails with ErrNoCgo.
func (l *Library) Open() (Driver, []Device, error) {
	return Driver{}, nil, fmt.Errorf("nvml: open: %w", ErrNoCgo)
}

// Read fails with ErrNoCgo.
func (l *Library) Read(device Device) (Reading, error) {
	return Reading{Device: device}, fmt.Errorf("nvml: read GPU %d: %w", device.Index, ErrNoCgo)
}

// Complete changes nothing.
func (l *Library) Complete() {}

// Details changes nothing.
func (l *Library) Details(bool) {}

// WithoutProcesses changes nothing.
func (l *Library) WithoutProcesses() {}

// Close does nothing.
func (l *Library) Close() error { return nil }

// Capabilities is empty: no library is loaded.
func (l *Library) Capabilities() []Capability { return nil }

// NeedsRestart is false: a restart would not help.
func (l *Library) NeedsRestart(error) bool { return false }
