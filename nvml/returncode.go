//go:build linux && cgo

package nvml

import (
	"errors"
	"fmt"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

func newError(call string, c gonvml.Return) *Error {
	name, ok := codeNames[c]
	if !ok {
		name = fmt.Sprintf("code %d", c)
	}
	return &Error{Name: name, Call: call, Kind: kinds[c]}
}

// codeNames are the names in nvml.h without the prefix NVML_.
var codeNames = map[gonvml.Return]string{
	0: "SUCCESS", 1: "ERROR_UNINITIALIZED", 2: "ERROR_INVALID_ARGUMENT", 3: "ERROR_NOT_SUPPORTED",
	4: "ERROR_NO_PERMISSION", 5: "ERROR_ALREADY_INITIALIZED", 6: "ERROR_NOT_FOUND",
	7: "ERROR_INSUFFICIENT_SIZE", 8: "ERROR_INSUFFICIENT_POWER", 9: "ERROR_DRIVER_NOT_LOADED",
	10: "ERROR_TIMEOUT", 11: "ERROR_IRQ_ISSUE", 12: "ERROR_LIBRARY_NOT_FOUND",
	13: "ERROR_FUNCTION_NOT_FOUND", 14: "ERROR_CORRUPTED_INFOROM", 15: "ERROR_GPU_IS_LOST",
	16: "ERROR_RESET_REQUIRED", 17: "ERROR_OPERATING_SYSTEM", 18: "ERROR_LIB_RM_VERSION_MISMATCH",
	19: "ERROR_IN_USE", 20: "ERROR_MEMORY", 21: "ERROR_NO_DATA", 22: "ERROR_VGPU_ECC_NOT_SUPPORTED",
	23: "ERROR_INSUFFICIENT_RESOURCES", 24: "ERROR_FREQ_NOT_SUPPORTED",
	25: "ERROR_ARGUMENT_VERSION_MISMATCH", 26: "ERROR_DEPRECATED", 27: "ERROR_NOT_READY",
	28: "ERROR_GPU_NOT_FOUND", 29: "ERROR_INVALID_STATE", 30: "ERROR_RESET_TYPE_NOT_SUPPORTED",
	999: "ERROR_UNKNOWN",
}

var kinds = map[gonvml.Return]error{
	gonvml.ERROR_UNINITIALIZED:           ErrUninitialized,
	gonvml.ERROR_NOT_SUPPORTED:           ErrNotSupported,
	gonvml.ERROR_FUNCTION_NOT_FOUND:      ErrNotSupported,
	gonvml.ERROR_DEPRECATED:              ErrNotSupported,
	gonvml.ERROR_NO_PERMISSION:           ErrNoPermission,
	gonvml.ERROR_OPERATING_SYSTEM:        ErrNoPermission, // for example where a device cgroup hides the GPU
	gonvml.ERROR_DRIVER_NOT_LOADED:       ErrDriverNotLoaded,
	gonvml.ERROR_TIMEOUT:                 ErrTimeout,
	gonvml.ERROR_LIBRARY_NOT_FOUND:       ErrLibraryNotFound,
	gonvml.ERROR_GPU_IS_LOST:             ErrGPULost,
	gonvml.ERROR_GPU_NOT_FOUND:           ErrGPULost,
	gonvml.ERROR_LIB_RM_VERSION_MISMATCH: ErrVersionMismatch,
}

// endsReading reports whether a code makes further calls to this GPU useless.
func endsReading(c gonvml.Return) bool {
	switch c {
	case gonvml.ERROR_UNINITIALIZED, gonvml.ERROR_DRIVER_NOT_LOADED, gonvml.ERROR_TIMEOUT, gonvml.ERROR_LIBRARY_NOT_FOUND,
		gonvml.ERROR_GPU_IS_LOST, gonvml.ERROR_RESET_REQUIRED, gonvml.ERROR_LIB_RM_VERSION_MISMATCH, gonvml.ERROR_GPU_NOT_FOUND:
		return true
	default:
		return false
	}
}

// refusesField reports whether a code means that the driver refuses a figure, not that reading it failed.
func refusesField(c gonvml.Return) bool {
	return errors.Is(kinds[c], ErrNotSupported) || errors.Is(kinds[c], ErrNoPermission)
}
