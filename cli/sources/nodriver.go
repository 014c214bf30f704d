package sources

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"vramscope/cli/command"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/nvml"
	"vramscope/sampler/snapshot"
)

// Unusable returns why a command ends: a GPU of --gpu is missing, or no probe answers, and the driver
// cannot be read or shows no GPU.
func (src *Set) Unusable(snap *snapshot.Snapshot) error {
	driver, devices := src.Driver.Opened()
	if snap.Driver.State == snapshot.DriverOK {
		if err := Unmatched(src.Options.Only, devices); err != nil {
			return err
		}
	}
	if snap.Driver.ProbesAnswering > 0 {
		return nil
	}
	if snap.Driver.State != snapshot.DriverOK {
		return src.DriverFailure(snap)
	}
	if len(devices) > 0 {
		return nil
	}
	return noGPU(driver, src.Program.Getenv("NVIDIA_VISIBLE_DEVICES"))
}

// Unmatched refuses a --gpu that names no GPU here, which would otherwise look like a lost GPU.
func Unmatched(wanted []string, devices []nvml.Device) error {
	for _, want := range wanted {
		found := false
		for _, device := range devices {
			found = found || want == strconv.Itoa(device.Index) || strings.HasPrefix(device.UUID, want)
		}
		if found || len(devices) == 0 {
			continue
		}
		f := command.Usage("there is no GPU %s here", text.Clean(want))
		for _, device := range devices {
			f = f.Then(fmt.Sprintf("  %2d  %s  %s", device.Index, device.UUID, text.Clean(device.Name)))
		}
		return f
	}
	return nil
}

// noGPU returns the error of a driver without a GPU. visible is NVIDIA_VISIBLE_DEVICES, which the
// container toolkit sets to void or none if no GPU was requested.
func noGPU(driver nvml.Driver, visible string) error {
	f := &command.Failure{
		Code:    command.ExitNoDriver,
		Message: fmt.Sprintf("driver %s runs and shows no GPU", cmp.Or(driver.Version, "(version unknown)")),
	}
	if visible == "void" || visible == "none" {
		return f.Then(fmt.Sprintf("  in a container    NVIDIA_VISIBLE_DEVICES is %q: ask for GPUs   (exit 9)", visible))
	}
	return f.Then(
		"  in a container    start it with --gpus all        (exit 9)",
		"  on a GPU box      lspci | grep -i nvidia          none there, or lent to a virtual machine?",
		"  kernel says       dmesg | grep -i NVRM")
}

// DriverFailure returns why the driver cannot be read.
func (src *Set) DriverFailure(snap *snapshot.Snapshot) error {
	driver, _ := src.Driver.Opened()
	err := snap.Driver.Err
	f := &command.Failure{Code: command.ExitNoDriver, Err: err}
	switch {
	case snap.Driver.State == snapshot.DriverStarting:
		f.Message = fmt.Sprintf("the driver has not answered for %s", quantity.BriefDuration(OnceOpening))
		f.Next = []string{"  kernel says       dmesg | grep -i NVRM"}
	case errors.Is(err, nvml.ErrNoCgo):
		if src.Settings.Library != "" {
			return command.Usage("--nvml-library: this vramscope was built without cgo: it cannot read a driver")
		}
		return NoCgo(nvml.ErrNoCgo)
	case errors.Is(err, nvml.ErrLibraryNotFound):
		return noLibrary(snap.Host.Name, src.Settings.Library, err)
	case errors.Is(err, nvml.ErrDriverNotLoaded):
		f.Message = fmt.Sprintf("driver library%s is here, but no driver is loaded", spaced(driver.LibraryVersion))
		f.Next = []string{
			"  after an upgrade  reboot, or reload the nvidia modules",
			"  kernel says       dmesg | grep -i NVRM            (exit 9)",
			"  just looking      vramscope --demo     a simulated box, marked as such",
		}
	case errors.Is(err, nvml.ErrVersionMismatch):
		f.Message = fmt.Sprintf("driver library%s is here, but the loaded driver is of another version", spaced(driver.LibraryVersion))
		f.Next = []string{
			"  after an upgrade  reboot, or reload the nvidia modules",
			"  kernel says       cat /proc/driver/nvidia/version",
		}
	case errors.Is(err, nvml.ErrNoPermission):
		f.Message = "the driver refuses this user: no permission"
		f.Next = []string{"  device files      ls -l /dev/nvidia*", "  not sure          vramscope doctor"}
	default:
		f.Message = fmt.Sprintf("the driver cannot be read: %s", cmp.Or(text.Clean(snap.Driver.Message), string(snap.Driver.State)))
		f.Next = []string{"  kernel says       dmesg | grep -i NVRM", "  not sure          vramscope doctor"}
	}
	return f
}

// NoCgo returns the error of a vramscope that was built without cgo; cause says what is missing.
func NoCgo(cause error) error {
	return &command.Failure{Code: command.ExitNoLibrary, Err: cause, Message: cause.Error(), Next: []string{
		"",
		"  build it again    with a C compiler installed, and CGO_ENABLED=1",
		"  just looking      vramscope --demo     a simulated box, marked as such",
	}}
}

func noLibrary(host, path string, err error) error {
	where := cmp.Or(path, "libnvidia-ml.so.1")
	reason := where + " not found"
	// If the file exists but is no library for this machine, the loader's message says more.
	if _, missing := os.Stat(where); path != "" && !errors.Is(missing, fs.ErrNotExist) {
		reason = where + " cannot be used"
		if e := (*nvml.Error)(nil); errors.As(err, &e) && e.Detail != "" {
			reason = text.Clean(e.Detail)
		}
	}
	return &command.Failure{Code: command.ExitNoLibrary, Err: err,
		Message: fmt.Sprintf("no NVIDIA driver library on %s: %s", cmp.Or(host, "this machine"), reason),
		Next: []string{
			"",
			"  on a GPU box      install the driver, or say where: --nvml-library PATH",
			"  in a container    start it with --gpus all (NVIDIA Container Toolkit)",
			"  just looking      vramscope --demo     a simulated box, marked as such",
			"  not sure          vramscope doctor",
		}}
}

func spaced(word string) string {
	if word == "" {
		return ""
	}
	return " " + word
}
