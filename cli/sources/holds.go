package sources

import (
	"context"
	"fmt"

	"vramscope/action"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// Held is what holds a process's memory, by its probe, and what the driver says of it.
type Held struct {
	probe.Holds
	Runtime  probe.Runtime
	Snapshot *snapshot.Snapshot
	Used     map[string]snapshot.Bytes // by device
}

// Holds asks a process's probe what holds its memory. An answer that exceeds what the
// driver says of the process is refused.
func (src *Set) Holds(ctx context.Context, pid int, look func() *snapshot.Snapshot) (Held, error) {
	client, hello, err := src.Connect(ctx, pid)
	if err != nil {
		return Held{}, err
	}
	defer func() { _ = client.Close() }() // the answer is complete
	out := Held{Used: map[string]snapshot.Bytes{}}
	if len(hello.Runtimes) > 0 {
		out.Runtime = hello.Runtimes[0]
	}
	if out.Holds, err = client.Holds(ctx); err != nil {
		return out, err
	}
	id := client.Process()
	out.Snapshot = look()
	if !src.Table.Alive(id) { // no driver's figure of it could limit the answer
		return out, &process.Refusal{Reason: fmt.Sprintf("PID %d has exited", pid)}
	}
	sums := map[string]quantity.Bytes{} // of a GPU: MIG instances share its limit
	for _, d := range out.Devices {
		uuid := d.UUID
		if g, _ := out.Snapshot.Device(uuid); g != nil {
			uuid = g.UUID
		}
		for _, row := range action.Rows(out.Snapshot, id, d.UUID) {
			out.Used[d.UUID] = row.Used
		}
		sums[uuid] += d.AllocatedBytes
		if limit := usedOf(out.Snapshot, id, uuid); sums[uuid] > limit+snapshot.Tolerance(limit) {
			return out, &process.Refusal{Reason: fmt.Sprintf("its probe reports %s on %s, the driver %s", sums[uuid], text.Clean(uuid), limit)}
		}
	}
	return out, nil
}
