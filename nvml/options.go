package nvml

import (
	"io"
	"os"
	"time"
)

// defaultLibrary is the name that every Linux driver installs its library
// under.
const defaultLibrary = "libnvidia-ml.so.1"

// Options say how to reach the driver. The zero value suits every box.
type Options struct {
	LibraryPath string           // libnvidia-ml.so.1 as the dynamic loader finds it where empty
	Now         func() time.Time // time.Now where nil

	// HostMemory opens the operating system's account of its memory, for GPUs
	// that share it: /proc/meminfo where nil.
	HostMemory func() (io.ReadCloser, error)
}

// filled is the options with the defaults in place.
func (o Options) filled() Options {
	if o.LibraryPath == "" {
		o.LibraryPath = defaultLibrary
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.HostMemory == nil {
		o.HostMemory = func() (io.ReadCloser, error) { return os.Open("/proc/meminfo") }
	}
	return o
}
