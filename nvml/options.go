package nvml

import (
	"io"
	"os"
	"time"
)

// defaultLibrary is the name that every Linux driver installs its library
// under.
const defaultLibrary = "libnvidia-ml.so.1"

// Options configure a Library. The zero value suits every box.
type Options struct {
	LibraryPath string           // libnvidia-ml.so.1 as the dynamic loader finds it where empty
	Now         func() time.Time // time.Now where nil

	// HostMemory opens /proc/meminfo, for GPUs that share the host's memory;
	// the real one where nil.
	HostMemory func() (io.ReadCloser, error)
}

// filled replaces zero values by the defaults.
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
