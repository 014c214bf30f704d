package probe

import (
	"fmt"

	"vramscope/internal/process"
)

// OpenProcess makes a new connection to the probe of a process. It is refused if
// the identity no longer matches.
func (f *Finder) OpenProcess(id process.Identity) (*Client, error) {
	if err := stillThere(f.table, id); err != nil {
		return nil, err
	}
	client, err := f.Open(id.PID)
	if err != nil {
		return nil, err
	}
	if !sameProcess(client.process, id) {
		_ = client.Close() // nothing was sent on it
		return nil, &process.Refusal{Reason: fmt.Sprintf("PID %d is another process now", id.PID)}
	}
	return client, nil
}

// stillThere refuses a process that has exited, or whose pid is now another's.
func stillThere(table *process.Table, id process.Identity) error {
	now, err := table.Identify(id.PID)
	if err != nil {
		return &process.Refusal{Reason: fmt.Sprintf("PID %d has exited", id.PID)}
	}
	if !sameProcess(now, id) {
		return &process.Refusal{Reason: fmt.Sprintf("PID %d is another process now", id.PID)}
	}
	return nil
}

// sameProcess compares two identities. Either may lack the namespace.
func sameProcess(a, b process.Identity) bool {
	return keyOf(a) == keyOf(b) && (a.Namespace == 0 || b.Namespace == 0 || a.Namespace == b.Namespace)
}
