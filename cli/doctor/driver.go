package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/nvml"
	"vramscope/sampler/snapshot"
)

// driver reports the library, the driver, the number of GPUs, and the calls that the library lacks.
func (b *Box) driver() []finding {
	if b.Snapshot.Driver.State != snapshot.DriverOK {
		return b.noDriver()
	}
	found := []finding{
		{verdict: works, what: "library", text: text.Clean(cmp.Or(b.Loaded.LibraryPath, "loaded")) + parenthesis(b.Loaded.LibraryVersion)},
		{verdict: works, what: "driver", text: text.Clean(cmp.Or(b.Loaded.Version, "version unknown"))},
	}
	if cuda := b.Loaded.CUDAVersion; cuda != "" {
		found[1].text += ", CUDA up to " + text.Clean(cuda)
	}
	count := strconv.Itoa(len(b.Devices))
	if shown := len(b.Snapshot.GPUs); shown != len(b.Devices) {
		count += fmt.Sprintf(", of which %d are sampled (--gpu, gpus)", shown)
	}
	if b.Unusable != nil {
		found = append(found, b.exitReason("GPUs"))
	} else {
		found = append(found, finding{verdict: works, what: "GPUs", text: count})
	}
	if b.Library == nil {
		return found // a simulated box
	}
	return append(found, missingCalls(b.Library.Capabilities())...)
}

// noDriver reports why no driver can be read, and which parts of a driver the system has.
func (b *Box) noDriver() []finding {
	err := b.Snapshot.Driver.Err
	var found []finding
	switch {
	case errors.Is(err, nvml.ErrNoCgo):
		return []finding{b.exitReason("build")}
	case errors.Is(err, nvml.ErrLibraryNotFound):
		found = append(found, b.exitReason("library"))
	default:
		path := cmp.Or(b.Loaded.LibraryPath, b.Settings.Library, "libnvidia-ml.so.1")
		found = append(found,
			finding{verdict: works, what: "library", text: text.Clean(path) + parenthesis(b.Loaded.LibraryVersion)},
			b.exitReason("driver"))
	}
	if version, err := os.ReadFile("/proc/driver/nvidia/version"); err == nil {
		first, _, _ := strings.Cut(string(version), "\n")
		found = append(found, finding{verdict: works, what: "kernel module", text: text.Clean(strings.Join(strings.Fields(first), " "))})
	} else {
		found = append(found, finding{verdict: fails, what: "kernel module", text: "/proc/driver/nvidia is not there: none is loaded"})
	}
	device := finding{verdict: works, what: "device files", text: "/dev/nvidiactl"}
	if _, err := os.Stat(device.text); err != nil {
		device.verdict, device.text = fails, device.text+" is not there"
	}
	found = append(found, device)
	if _, err := os.Stat("/dev/dxg"); err == nil {
		found = append(found, finding{verdict: neither, what: "WSL", text: "the driver is Windows': its library is /usr/lib/wsl/lib/libnvidia-ml.so.1"})
	}
	return found
}

// exitReason returns the error with which the monitor would end, or else the driver's error.
func (b *Box) exitReason(what string) finding {
	if b.Unusable == nil {
		// A probe answers, so the monitor works without a driver.
		return finding{verdict: fails, what: what, text: text.Clean(cmp.Or(b.Snapshot.Driver.Message, string(b.Snapshot.Driver.State)))}
	}
	return failed(b.Unusable, what)
}

// missingCalls lists the calls of which the library lacks every version.
func missingCalls(capabilities []nvml.Capability) []finding {
	versionSuffix := regexp.MustCompile(`, (older|oldest|newer) call$`) // all versions of a call do the same
	there := make(map[string]bool)
	for _, c := range capabilities {
		name := versionSuffix.ReplaceAllString(c.Name, "")
		there[name] = there[name] || c.Available
	}
	var found []finding
	listed := make(map[string]bool)
	for _, c := range capabilities {
		if name := versionSuffix.ReplaceAllString(c.Name, ""); !there[name] && !listed[name] {
			listed[name] = true
			found = append(found, finding{verdict: neither, what: "missing", text: name + ": this library has no " + c.Symbol})
		}
	}
	return found
}

// gpus reports each GPU, processes that hold its device, and which memory call and MIG mode are in use.
func (b *Box) gpus() []finding {
	var found []finding
	mig, seen := 0, false
	for i := range b.Snapshot.GPUs {
		g := &b.Snapshot.GPUs[i]
		if g.Message == snapshot.ProbeDataOnly {
			f := finding{verdict: neither, what: "GPU " + strconv.Itoa(g.Index), text: text.Clean(g.Message)}
			if total, ok := g.Memory.Total.Value(); ok {
				f.text += ", " + total.String()
			}
			found = append(found, f)
			continue
		}
		seen = true
		f := finding{verdict: works, what: "GPU " + strconv.Itoa(g.Index), text: text.Clean(g.Name)}
		if g.State != snapshot.GPUOK {
			f.verdict = fails
			f.text += ", " + text.Clean(string(g.State)) + parenthesis(g.Message)
			f.next = []string{"kernel says       dmesg | grep -i NVRM", "other programs    stop them before a reset: nvidia-smi --gpu-reset -i " + strconv.Itoa(g.Index)}
		} else if total, ok := g.Memory.Total.Value(); ok {
			f.text += ", " + total.String()
		}
		if g.MIG {
			mig++
			f.text += ", " + text.Plural(len(g.Instances), "MIG instance", "MIG instances")
		}
		found = append(found, f)
		if rest, ok := g.Unattributed.Value(); ok && len(g.Holders) > 0 {
			found = append(found, finding{verdict: neither, what: f.what, text: rest.String() + " is used by processes that the driver does not list" + OpenIn(g.Holders)})
		}
	}
	if len(b.Snapshot.Holders) > 0 {
		found = append(found, finding{verdict: neither, what: "holders", text: "they have files of the driver open, and are on no GPU's list: " + holderNames(b.Snapshot.Holders)})
	}
	if !seen {
		return found
	}
	found = append(found, b.memoryCall())
	if mig == 0 {
		found = append(found, finding{verdict: neither, what: "MIG", text: "no GPU is in MIG mode"})
	} else {
		found = append(found, finding{verdict: works, what: "MIG", text: fmt.Sprintf("%s in MIG mode; the driver reports no utilization there", text.Plural(mig, "GPU", "GPUs"))})
	}
	return found
}

// memoryCall reports how the memory of the GPUs is read.
func (b *Box) memoryCall() finding {
	switch unified := func(g snapshot.GPU) bool { return g.Memory.Used.Source() == quantity.System }; {
	case slices.ContainsFunc(b.Snapshot.GPUs, unified):
		return finding{works, "memory", "unified: the GPU uses the host's memory, and that is what is shown", nil}
	case b.Snapshot.Driver.MemoryCall == "v2":
		return finding{works, "memory", "what the driver reserves for itself is reported apart (memory call v2)", nil}
	case b.Snapshot.Driver.MemoryCall == "v1":
		return finding{neither, "memory", "what the driver reserves for itself is counted as used (memory call v1)", nil}
	default:
		return finding{fails, "memory", "no GPU reports its memory", nil}
	}
}

// OpenIn returns the end of a sentence about a GPU that names its first holders; "" without holders.
func OpenIn(holders []snapshot.Holder) string {
	if len(holders) == 0 {
		return ""
	}
	return "; its device is open in " + holderNames(holders)
}

func holderNames(holders []snapshot.Holder) string {
	const maxNamed = 3
	var names []string
	for _, h := range holders[:min(len(holders), maxNamed)] {
		names = append(names, fmt.Sprintf("%d %s (%s)", h.Process.PID, cmp.Or(text.Clean(h.Name), "?"), cmp.Or(text.Clean(h.User), "?")))
	}
	if more := len(holders) - maxNamed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
