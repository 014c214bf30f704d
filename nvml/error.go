package nvml

import "errors"

// Errors that callers act on.
var (
	ErrLibraryNotFound = errors.New("no NVIDIA driver library")
	ErrDriverNotLoaded = errors.New("no NVIDIA driver is loaded")
	ErrNoCgo           = errors.New("built without cgo: cannot read the driver")
	ErrNotSupported    = errors.New("not supported")
	ErrGPULost         = errors.New("GPU is lost")
	ErrUninitialized   = errors.New("the driver library is not initialised")
	ErrVersionMismatch = errors.New("driver and library versions differ")
	ErrBusy            = errors.New("calls into the driver are still outstanding")
	ErrNoPermission    = errors.New("no permission")
	ErrTimeout         = errors.New("the driver did not answer in time")
)

// Error is a failed NVML call, or a library that cannot be loaded.
type Error struct {
	Name   string // "ERROR_GPU_IS_LOST"
	Call   string // "nvmlDeviceGetMemoryInfo_v2"
	Kind   error  // one of the errors above, nil for codes without one
	Detail string // for example the loader's message; may be empty
}

// Error implements error: "nvmlDeviceGetMemoryInfo_v2: ERROR_GPU_IS_LOST".
func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Call + ": " + e.Name
	}
	return e.Call + ": " + e.Name + ": " + e.Detail
}

// Unwrap returns the kind, so that errors.Is(err, ErrGPULost) works.
func (e *Error) Unwrap() error { return e.Kind }
