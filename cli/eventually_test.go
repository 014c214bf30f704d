package cli

import (
	"os"
	"syscall"
	"time"
)

// waitLimit is how long a test waits. It is long enough for a loaded machine.
const waitLimit = time.Minute

// eventually polls until a condition holds, and reports whether it did in time.
func eventually(holds func() bool) bool {
	for deadline := time.Now().Add(waitLimit); ; time.Sleep(10 * time.Millisecond) {
		if holds() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// writeProgram writes an executable file. A child process that another test makes meanwhile would keep
// the file open for writing until the child executes its own program: "text file busy".
func writeProgram(path string, content []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, content, 0o755)
}
