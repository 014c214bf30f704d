package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"vramscope/cli/config"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/nvml"
	"vramscope/probe/cuda"
)

// box is what the driver says of the GPUs to somebody who has to choose one.
// CUDA counts them differently, and to ask it for free memory costs a context
// on each, so that NVML is asked; without it the box is empty.
type box struct {
	wanted  string // the one GPU asked for, "" for any
	visible string // CUDA_VISIBLE_DEVICES
	devices []nvml.Device
	free    map[string]quantity.Bytes // by UUID, of GPUs and MIG instances
}

// boxOf asks the driver, and not for long.
func (p *program) boxOf(s *config.Settings) (*box, error) {
	b := &box{visible: p.getenv("CUDA_VISIBLE_DEVICES"), free: map[string]quantity.Bytes{}}
	switch len(s.GPUs) {
	case 0:
	case 1:
		b.wanted = s.GPUs[0]
	default:
		return nil, usage("--gpu: a probe process uses one GPU, not %d", len(s.GPUs))
	}
	library := nvml.New(nvml.Options{LibraryPath: s.Library})
	opened := make(chan []nvml.Device, 1)
	go func() {
		// Its error is CUDA's to tell: there is no driver for it either then.
		_, devices, _ := library.Open()
		opened <- devices
	}()
	select {
	case b.devices = <-opened:
	case <-time.After(onceOpening):
		return b, nil
	}
	b.readFree(library)
	return b, nil
}

// readFree reads the GPUs side by side: one that hangs is left out.
func (b *box) readFree(library *nvml.Library) {
	type answer struct {
		reading nvml.Reading
		err     error
	}
	answers := make(chan answer, len(b.devices))
	for _, device := range b.devices {
		go func() {
			reading, err := library.Read(device)
			answers <- answer{reading, err}
		}()
	}
	late := time.After(onceReading)
	for range b.devices {
		select {
		case a := <-answers:
			if a.err != nil {
				continue
			}
			if free, known := a.reading.Memory.Free.Value(); known {
				b.free[a.reading.Device.UUID] = free
			}
			for _, instance := range a.reading.Instances {
				if free, known := instance.Memory.Free.Value(); known {
					b.free[instance.UUID] = free
				}
			}
		case <-late:
			return
		}
	}
	// The library is let go only where nothing hangs in it; where something
	// does, the end of the program lets it go.
	_ = library.Close()
}

// choose finds the device asked for among those that CUDA shows, or the one
// with the most free memory.
func (b *box) choose(devices []cuda.Device) (cuda.Device, error) {
	if b.wanted == "" {
		best := devices[0]
		for _, d := range devices[1:] {
			if b.free[d.UUID] > b.free[best.UUID] {
				best = d
			}
		}
		return best, nil
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
	if err := unmatched([]string{b.wanted}, b.devices); err != nil {
		return cuda.Device{}, err
	}
	f := usage("CUDA does not show GPU %s to this process", text.Clean(b.wanted))
	if b.visible != "" {
		f.message += fmt.Sprintf(": CUDA_VISIBLE_DEVICES is %q", text.Clean(b.visible))
	}
	for _, d := range devices {
		f.advice = append(f.advice, "  shown  "+b.describe(d))
	}
	return cuda.Device{}, f
}

// wantedUUID is the UUID, or its beginning, of the GPU asked for. An index is
// NVML's, and CUDA's own only where there is no NVML.
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
		return "", unmatched([]string{b.wanted}, b.devices)
	}
	for _, d := range devices {
		if d.Ordinal == index {
			return d.UUID, nil
		}
	}
	return "", usage("there is no GPU %s here: CUDA shows %d", text.Clean(b.wanted), len(devices))
}

// describe names a device as the rest of vramscope does: by NVML's index.
func (b *box) describe(d cuda.Device) string {
	for _, known := range b.devices {
		if known.UUID == d.GPU {
			return fmt.Sprintf("GPU %d (%s)", known.Index, text.Clean(cmp.Or(d.Name, known.Name)))
		}
	}
	return fmt.Sprintf("%s (%s)", d.UUID, text.Clean(d.Name))
}
