package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"vramscope/internal/text"
	"vramscope/probe/cuda"
)

// probeFailure words why there is no probe process.
func (p *program) probeFailure(err error, b *box) error {
	var told *failure
	var size *cuda.SizeError
	switch {
	case errors.As(err, &told): // of the choice of a GPU
		return told
	case errors.As(err, &size):
		return tooLarge(size, b)
	case errors.Is(err, cuda.ErrNoCgo):
		return &failure{code: exitNoLibrary, err: err, message: cuda.ErrNoCgo.Error(), advice: []string{
			"",
			"  build it again    with a C compiler installed, and CGO_ENABLED=1",
			"  just looking      vramscope --demo     a simulated box, marked as such",
		}}
	case errors.Is(err, cuda.ErrLibraryNotFound):
		return noCUDALibrary(err, b)
	case errors.Is(err, cuda.ErrNoDevice):
		f := &failure{code: exitNoDriver, err: err, message: "CUDA shows no GPU to this process"}
		if b.visible != "" {
			f.advice = append(f.advice, fmt.Sprintf("  hidden?           CUDA_VISIBLE_DEVICES is %q", text.Clean(b.visible)))
		}
		f.advice = append(f.advice,
			"  kernel says       dmesg | grep -i NVRM            (exit 9)",
			"  just looking      vramscope --demo     a simulated box, marked as such")
		return f
	case errors.Is(err, cuda.ErrNoDriver), errors.Is(err, cuda.ErrTooOld):
		return &failure{code: exitNoDriver, err: err, message: text.Clean(err.Error()), advice: []string{
			"  after an upgrade  reboot, or reload the nvidia modules",
			"  not sure          vramscope doctor",
		}}
	case errors.Is(err, cuda.ErrUnavailable):
		return &failure{code: exitFailure, err: err, message: text.Clean(err.Error()), advice: []string{
			"  exclusive mode?   nvidia-smi -q -d COMPUTE says which mode it is in",
			"  another GPU       vramscope probe --gpu INDEX",
		}}
	}
	return &failure{code: exitFailure, err: err, message: text.Clean(err.Error())}
}

// tooLarge refuses a size: one that the card can never have, as a mistake; one
// that it does not have now, as bad luck.
func tooLarge(e *cuda.SizeError, b *box) error {
	f := &failure{code: exitFailure, err: e}
	f.message = fmt.Sprintf("--size: %s does not fit on %s: %s is free, and 512M of it is left alone",
		e.Size, b.describe(e.Device), e.Free)
	if e.Size > e.Device.Total {
		f.code = exitUsage
		f.message = fmt.Sprintf("--size: %s is more than there is: %s has %s", e.Size, b.describe(e.Device), e.Device.Total)
	}
	if e.Fits > 0 {
		f.advice = append(f.advice, fmt.Sprintf("  would fit now     --size %dMiB", e.Fits>>20))
	}
	f.advice = append(f.advice, "  another GPU       vramscope probe --gpu INDEX")
	return f
}

func noCUDALibrary(err error, b *box) error {
	host, _ := os.Hostname() // without it the message says "this machine"
	f := &failure{code: exitNoLibrary, err: err,
		message: fmt.Sprintf("no CUDA driver library on %s: libcuda.so.1 not found", cmp.Or(text.Clean(host), "this machine"))}
	if len(b.devices) > 0 {
		// The driver is there, only not this part of it.
		f.advice = append(f.advice, "  in a container    NVIDIA_DRIVER_CAPABILITIES lacks compute: set it to compute,utility")
	} else {
		f.advice = append(f.advice, "  in a container    start it with --gpus all (NVIDIA Container Toolkit)")
	}
	f.advice = append(f.advice,
		"  on a GPU box      install the driver's CUDA part (libcuda1, nvidia-driver-cuda)",
		"  just looking      vramscope --demo     a simulated box, marked as such",
		"  not sure          vramscope doctor")
	return f
}
