package cuda

import "errors"

// The kinds of errors. A failed call of the driver is an *Error, which wraps one of them if its code
// is known.
var (
	ErrNoCgo           = errors.New("built without cgo: cannot use CUDA")
	ErrLibraryNotFound = errors.New("no CUDA driver library")
	ErrTooOld          = errors.New("the driver is too old")
	ErrNoDriver        = errors.New("no NVIDIA driver that matches the library is loaded")
	ErrNoDevice        = errors.New("no GPU")
	ErrUnavailable     = errors.New("GPU is not available")
	ErrNotSupported    = errors.New("not supported")
	ErrOutOfMemory     = errors.New("out of memory")
)

type Error struct {
	Code int    // CUresult
	Name string // "CUDA_ERROR_OUT_OF_MEMORY", in the driver's words
	Text string // "out of memory", in the driver's words
	Call string // "cuMemAllocFromPoolAsync"
}

// Error implements error: "cuInit: CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)".
func (e *Error) Error() string {
	if e.Text == "" {
		return e.Call + ": " + e.Name
	}
	return e.Call + ": " + e.Name + " (" + e.Text + ")"
}

// Unwrap returns the kind of error, nil for other codes.
// Source: https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
func (e *Error) Unwrap() error {
	switch e.Code {
	case 2:
		return ErrOutOfMemory
	case 3, 34, 802, 803, 804: // not initialised, stub library, not ready, mismatch, no forward compatibility
		return ErrNoDriver
	case 100:
		return ErrNoDevice
	case 46, 101, 201, 214: // in use or lost, invalid device or context, uncorrectable ECC error
		return ErrUnavailable
	case 801:
		return ErrNotSupported
	}
	return nil
}
