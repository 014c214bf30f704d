package cli

import "time"

// patience is how long a test waits for what must come. It is generous: a
// loaded machine is no failure.
const patience = time.Minute

// eventually asks again and again until something holds, and reports whether
// it did in time.
func eventually(holds func() bool) bool {
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if holds() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}
