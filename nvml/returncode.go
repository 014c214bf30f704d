package nvml

import "errors"

// code is an nvmlReturn_t.
// Source: nvml.h, nvmlReturn_enum.
type code int32

const (
	codeSuccess          code = 0
	codeUninitialized    code = 1
	codeInvalidArgument  code = 2
	codeNotSupported     code = 3
	codeNoPermission     code = 4
	codeNotFound         code = 6
	codeInsufficientSize code = 7
	codeDriverNotLoaded  code = 9
	codeTimeout          code = 10
	codeLibraryNotFound  code = 12
	codeFunctionNotFound code = 13
	codeGPULost          code = 15
	codeResetRequired    code = 16
	codeOperatingSystem  code = 17
	codeVersionMismatch  code = 18
	codeArgumentVersion  code = 25
	codeDeprecated       code = 26
	codeGPUNotFound      code = 28
	codeUnknown          code = 999
)

// codeNames are the names in nvml.h without the prefix NVML_.
var codeNames = map[code]string{
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

// kind is the error of this package for a code, nil for codes without one.
func (c code) kind() error {
	switch c {
	case codeUninitialized:
		return ErrUninitialized
	case codeNotSupported, codeFunctionNotFound, codeDeprecated:
		return ErrNotSupported
	case codeNoPermission, codeOperatingSystem:
		// A device cgroup that hides the GPU answers OPERATING_SYSTEM.
		return ErrNoPermission
	case codeDriverNotLoaded:
		return ErrDriverNotLoaded
	case codeTimeout:
		return ErrTimeout
	case codeLibraryNotFound:
		return ErrLibraryNotFound
	case codeGPULost, codeGPUNotFound:
		return ErrGPULost
	case codeVersionMismatch:
		return ErrVersionMismatch
	default:
		return nil
	}
}

// endsReading reports whether a code makes further calls to this GPU useless.
// Every other failure costs one field only.
func (c code) endsReading() bool {
	switch c {
	case codeUninitialized, codeDriverNotLoaded, codeTimeout, codeLibraryNotFound,
		codeGPULost, codeResetRequired, codeVersionMismatch, codeGPUNotFound:
		return true
	default:
		return false
	}
}

// refusesField reports whether a code refuses a figure, as opposed to failing to
// read it.
func (c code) refusesField() bool {
	return errors.Is(c.kind(), ErrNotSupported) || errors.Is(c.kind(), ErrNoPermission)
}
