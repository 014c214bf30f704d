package probe

import (
	"fmt"

	"vramscope/internal/process"
)

// OpenProcess connects to the probe of a process that has been seen before, on
// a connection of its own. It is refused if the identity does not match any
// more.
func (f *Finder) OpenProcess(id process.Identity) (*Client, error) {
	if err := stillThere(f.table, id); err != nil {
		return nil, err
	}
	client, err := f.Open(id.PID)
	if err != nil {
		return nil, err
	}
	if !sameProcess(client.process, id) {
		_ = client.Close() // nothing was said
		return nil, &process.Refusal{Reason: fmt.Sprintf("PID %d is another process now", id.PID)}
	}
	return client, nil
}

// stillThere refuses a process that has ended, or whose pid is another's.
func stillThere(table *process.Table, id process.Identity) error {
	now, err := table.Identify(id.PID)
	if err != nil {
		return &process.Refusal{Reason: fmt.Sprintf("PID %d has ended", id.PID)}
	}
	if !sameProcess(now, id) {
		return &process.Refusal{Reason: fmt.Sprintf("PID %d is another process now", id.PID)}
	}
	return nil
}

// sameProcess compares two identities, of which one may not know its namespace.
func sameProcess(a, b process.Identity) bool {
	return keyOf(a) == keyOf(b) && (a.Namespace == 0 || b.Namespace == 0 || a.Namespace == b.Namespace)
}
