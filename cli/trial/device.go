package trial

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"vramscope/cli/command"
	"vramscope/cli/config"
	"vramscope/cli/sources"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/nvml"
	"vramscope/probe/cuda"
)

// box holds NVML's GPUs and their free memory, to choose one; it is empty without NVML. CUDA numbers
// GPUs differently, and reports free memory only with a context on the GPU.
type box struct {
	wanted  string // the GPU of --gpu, "" for any
	visible string // CUDA_VISIBLE_DEVICES
	devices []nvml.Device
	free    map[string]quantity.Bytes // by UUID, of GPUs and MIG instances
}

func boxOf(p *command.Program, s *config.Settings) (*box, error) {
	b := &box{visible: p.Getenv("CUDA_VISIBLE_DEVICES"), free: map[string]quantity.Bytes{}}
	switch len(s.GPUs) {
	case 0:
	case 1:
		b.wanted = s.GPUs[0]
	default:
		return nil, command.Usage("--gpu: a probe process uses one GPU, not %d", len(s.GPUs))
	}
	src := sources.OpenWith(p, s, 0)
	snap := src.GPUs()
	_, b.devices = src.Driver.Opened() // without a driver there are none, and CUDA reports the error
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		b.free[g.UUID] = g.Memory.Free.Or(0)
		for _, instance := range g.Instances {
			b.free[instance.UUID] = instance.Memory.Free.Or(0)
		}
	}
	return b, nil
}

// choose returns the device of --gpu, or the one with the most free memory.
func (b *box) choose(devices []cuda.Device) (cuda.Device, error) {
	if b.wanted == "" {
		return slices.MaxFunc(devices, func(x, y cuda.Device) int { return cmp.Compare(b.free[x.UUID], b.free[y.UUID]) }), nil
	}
	uuid, err := b.wantedUUID(devices)
	if err != nil {
		return cuda.Device{}, err
	}
	for _, d := range devices {
		if strings.HasPrefix(d.UUID, uuid) || strings.HasPrefix(d.GPU, uuid) {
			return d, nil
		}
	}
	if err := sources.Unmatched([]string{b.wanted}, b.devices); err != nil {
		return cuda.Device{}, err
	}
	f := command.Usage("CUDA does not show GPU %s to this process", text.Clean(b.wanted))
	if b.visible != "" {
		f.Message += fmt.Sprintf(": CUDA_VISIBLE_DEVICES is %q", text.Clean(b.visible))
	}
	for _, d := range devices {
		f = f.Then("  shown  " + b.describe(d))
	}
	return cuda.Device{}, f
}

// wantedUUID returns the UUID, or its beginning, of the GPU of --gpu. An index is NVML's, or CUDA's if
// there is no NVML.
func (b *box) wantedUUID(devices []cuda.Device) (string, error) {
	index, err := strconv.Atoi(b.wanted)
	if err != nil {
		return b.wanted, nil
	}
	for _, d := range b.devices {
		if d.Index == index {
			return d.UUID, nil
		}
	}
	if len(b.devices) > 0 {
		return "", sources.Unmatched([]string{b.wanted}, b.devices)
	}
	if index >= len(devices) {
		return "", command.Usage("there is no GPU %s here: CUDA shows %d", text.Clean(b.wanted), len(devices))
	}
	return devices[index].UUID, nil
}

// describe names a device by the index of its GPU in NVML or, without NVML, by its UUID.
func (b *box) describe(d cuda.Device) string {
	for _, known := range b.devices {
		if known.UUID == d.GPU {
			return fmt.Sprintf("GPU %d (%s)", known.Index, text.Clean(cmp.Or(d.Name, known.Name)))
		}
	}
	return fmt.Sprintf("%s (%s)", d.UUID, text.Clean(d.Name))
}

func probeFailure(err error, b *box) error {
	f := command.Failed(err)
	var size *cuda.SizeError
	switch worded, ok := errors.AsType[*command.Failure](err); {
	case ok: // from choose
		return worded
	case errors.As(err, &size):
		return tooLarge(size, b)
	case errors.Is(err, cuda.ErrNoCgo):
		return sources.NoCgo(cuda.ErrNoCgo)
	case errors.Is(err, cuda.ErrLibraryNotFound):
		f.Code = command.ExitNoLibrary
		f.Next = []string{
			"  in a container    start it with --gpus all and NVIDIA_DRIVER_CAPABILITIES=compute,utility",
			"  on a GPU box      install the driver's CUDA part (libcuda1, nvidia-driver-cuda)",
			"  not sure          vramscope doctor"}
	case errors.Is(err, cuda.ErrNoDevice):
		f.Code, f.Message = command.ExitNoDriver, "CUDA shows no GPU to this process"
		if b.visible != "" {
			f = f.Then(fmt.Sprintf("  hidden?           CUDA_VISIBLE_DEVICES is %q", text.Clean(b.visible)))
		}
		f = f.Then(
			"  kernel says       dmesg | grep -i NVRM            (exit 9)",
			"  just looking      vramscope --demo     a simulated box, marked as such")
	case errors.Is(err, cuda.ErrNoDriver), errors.Is(err, cuda.ErrTooOld):
		f.Code = command.ExitNoDriver
		f.Next = []string{"  after an upgrade  reboot, or reload the nvidia modules", "  not sure          vramscope doctor"}
	case errors.Is(err, cuda.ErrUnavailable):
		f.Next = []string{"  exclusive mode?   nvidia-smi -q -d COMPUTE says which mode it is in", "  another GPU       vramscope probe --gpu INDEX"}
	}
	return f
}

// tooLarge refuses a size. That is a usage error only if the GPU could never hold so much.
func tooLarge(e *cuda.SizeError, b *box) error {
	f := command.Fail("--size: %s does not fit on %s: %s is free, and 512M of it is left alone", e.Size, b.describe(e.Device), e.Free)
	if e.Size > e.Device.Total {
		f = command.Usage("--size: %s is more than there is: %s has %s", e.Size, b.describe(e.Device), e.Device.Total)
	}
	return f.Then("  another GPU       vramscope probe --gpu INDEX")
}
