package cli

import "time"

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
