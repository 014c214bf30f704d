package launch

import (
	"fmt"
	"os"

	"vramscope/probe/preload"
)

// Preloading is whether a command gets the native probe.
type Preloading struct {
	Wanted, Unwanted bool // --preload, --no-preload
	Rescue           bool // --rescue
}

// Decide says whether a library goes into LD_PRELOAD, and if not, why. Shells
// and other starters get it: what uses the GPU is what they start. Python
// programs have their own probe, which knows more.
func (f Preloading) Decide(c *Command) (yes bool, why string) {
	switch {
	case f.Unwanted:
		return false, "--no-preload"
	case c.python && !f.Wanted:
		return false, "Python has its own probe"
	}
	path := c.path
	if interpreter := shebang(path); len(interpreter) > 0 {
		path = interpreter[0]
	}
	why = preload.Obstacle(path)
	return why == "", why
}

// NativeObstacle says why a running process cannot have the native probe; "" if it can.
func NativeObstacle(pid int) string {
	path := fmt.Sprintf("/proc/%d/exe", pid)
	if target, err := os.Readlink(path); err != nil || isPython(target) {
		return ""
	}
	return preload.Obstacle(path)
}
