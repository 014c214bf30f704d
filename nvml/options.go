package nvml

import (
	"cmp"
	"time"

	"github.com/prometheus/procfs"
)

// defaultLibrary is what every Linux driver names its library.
const defaultLibrary = "libnvidia-ml.so.1"

// Options configure a Library. The zero value suits every box.
type Options struct {
	LibraryPath string           // libnvidia-ml.so.1 as the dynamic loader finds it where empty
	Now         func() time.Time // time.Now where nil
	Proc        string           // /proc where empty
}

// filled replaces zero values by the defaults.
func (o Options) filled() Options {
	o.LibraryPath = cmp.Or(o.LibraryPath, defaultLibrary)
	o.Proc = cmp.Or(o.Proc, procfs.DefaultMountPoint)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
