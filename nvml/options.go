package nvml

import "time"

// Options configure a Library. The zero value suits every box.
type Options struct {
	LibraryPath string           // libnvidia-ml.so.1 as the dynamic loader finds it where empty
	Now         func() time.Time // time.Now where nil
	Proc        string           // /proc where empty
}
