//go:build linux && cgo

package nvml

import (
	"errors"
	"testing"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

func TestErrorKinds(t *testing.T) {
	for number, want := range map[gonvml.Return]error{
		gonvml.ERROR_UNINITIALIZED: ErrUninitialized, gonvml.ERROR_DRIVER_NOT_LOADED: ErrDriverNotLoaded,
		gonvml.ERROR_LIBRARY_NOT_FOUND: ErrLibraryNotFound, gonvml.ERROR_GPU_IS_LOST: ErrGPULost, gonvml.ERROR_LIB_RM_VERSION_MISMATCH: ErrVersionMismatch,
		gonvml.ERROR_NO_PERMISSION: ErrNoPermission, gonvml.ERROR_TIMEOUT: ErrTimeout, gonvml.ERROR_FUNCTION_NOT_FOUND: ErrNotSupported,
	} {
		var err error = newError("nvmlX", number)
		if !errors.Is(err, want) {
			t.Errorf("%v is not %v", err, want)
		}
	}
	if got := newError("nvmlX", 15).Error(); got != "nvmlX: ERROR_GPU_IS_LOST" {
		t.Error(got)
	}
	if got := newError("nvmlX", 4711).Error(); got != "nvmlX: code 4711" {
		t.Error(got)
	}
	if endsReading(gonvml.ERROR_UNKNOWN) || endsReading(gonvml.ERROR_NOT_SUPPORTED) || !endsReading(gonvml.ERROR_GPU_IS_LOST) {
		t.Error("the wrong codes end a reading")
	}
}
