package sources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"vramscope/guard/advice"
	"vramscope/internal/bounded"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/memoryviz"
	"vramscope/memoryviz/whatif"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// MemoryHistory makes the probe of a process write its allocations and their recorded history, as a pickle.
func (src *Set) MemoryHistory(ctx context.Context, pid int) ([]byte, error) {
	client, _, err := src.Connect(ctx, pid)
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }() // the answer is complete
	file, err := os.CreateTemp("", ".vramscope-history-*")
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = file.Close(), os.Remove(file.Name()) }() // it has been read
	written, err := client.Snapshot(ctx, probe.SnapshotRequest{Format: probe.PyTorchFormat}, file)
	if err != nil {
		return nil, err
	}
	return bounded.First(io.NewSectionReader(file, 0, written.Bytes), memoryviz.MaxFile)
}

func rowsOf(snap *snapshot.Snapshot, pid int) []snapshot.Process {
	return slices.DeleteFunc(slices.Clone(snap.Rows), func(p snapshot.Process) bool { return p.ID.Process.PID != pid })
}

// RoomOf returns the memory that PyTorch can have on the GPU of a process, and the memory that the process uses there
// outside of PyTorch. 0 is unknown, as with several GPUs, where it is unknown which of them PyTorch counts first.
func RoomOf(snap *snapshot.Snapshot, pid int) (room, outside quantity.Bytes) {
	rows := rowsOf(snap, pid)
	if len(rows) != 1 || rows[0].Other.Or(0) <= 0 {
		return 0, 0
	}
	row := &rows[0]
	outside = row.Other.Or(0)
	if gpu := snap.GPU(row.ID.GPUUUID); gpu != nil {
		if free, known := snapshot.FreeOf(gpu.MemoryOf(row.ID.Instance)).Value(); known {
			room = free + row.Used.Or(0) - outside
		}
	}
	return room, outside
}

// Replayed replays the requests of a process under other settings of its allocator, if the process runs under
// vramscope run --record-memory. The size of the GPU is no limit. The program pauses while it writes its history.
func (src *Set) Replayed(ctx context.Context, snap *snapshot.Snapshot, pid int) ([]advice.Replay, error) {
	rows := rowsOf(snap, pid)
	switch {
	case src.Table == nil:
		return nil, errors.New("a simulated process has no memory history")
	case len(rows) != 1:
		return nil, fmt.Errorf("PID %d uses %s here, not one", pid, text.Plural(len(rows), "GPU", "GPUs"))
	}
	environment, err := src.Table.Environment(rows[0].ID.Process)
	if err == nil && !slices.ContainsFunc(environment, func(v process.Variable) bool { return v.Name == "VRAMSCOPE_RECORD_MEMORY" }) {
		err = fmt.Errorf("PID %d does not run under vramscope run --record-memory", pid)
	}
	if err != nil {
		return nil, err
	}
	python, err := whatif.Of(pid)
	if err != nil {
		return nil, err
	}
	history, err := src.MemoryHistory(ctx, pid)
	if err != nil {
		return nil, err
	}
	doc, err := python.Replay(ctx, history, whatif.Settings, 0, 0)
	switch {
	case err != nil:
		return nil, err
	case len(doc.Devices) != 1:
		return nil, fmt.Errorf("it has the history of %s, not of one", text.Plural(len(doc.Devices), "GPU", "GPUs"))
	case doc.Devices[0].Estimate != nil:
		return nil, fmt.Errorf("it is an estimate: %s", *doc.Devices[0].Estimate)
	case doc.Devices[0].Failed:
		return nil, errors.New("it ran out of memory, and what it asked for after that is not replayed")
	}
	return replays(&doc.Devices[0]), nil
}

// ReadTrace reads a trace of allocations. The file must be regular and no link, because root can read it for
// another user. For root, it must belong to root or to a user whom allowed accepts; nil accepts all.
func ReadTrace(name string, allowed func(uid uint32) bool) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // nothing was written
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return nil, err
	}
	switch {
	case stat.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, errors.New("it is no regular file")
	case stat.Size > memoryviz.MaxFile:
		return nil, errors.New("it has more than 1 GiB")
	case os.Geteuid() == 0 && stat.Uid != 0 && allowed != nil && !allowed(stat.Uid):
		return nil, errors.New("it belongs neither to root nor to the user of the process")
	}
	return bounded.First(file, memoryviz.MaxFile)
}

// ReplayedError replays a trace that ends in an out-of-memory error of about the requested size. Any other trace, or an
// estimate, is an error. reserved is the memory that PyTorch had reserved then.
func ReplayedError(ctx context.Context, trace []byte, interpreter string, requested, reserved quantity.Bytes) ([]advice.Replay, error) {
	python, err := whatif.Named(ctx, interpreter)
	if err != nil {
		return nil, fmt.Errorf("no Python: %w", err)
	}
	doc, err := python.Replay(ctx, trace, whatif.Settings, 0, 0)
	if err != nil {
		return nil, err
	}
	const rounded = 20 * quantity.MiB // PyTorch asks the driver for at most this much more than the program asked for
	for i := range doc.Devices {
		d := &doc.Devices[i]
		if d.Asked != nil && requested >= *d.Asked && requested <= *d.Asked+rounded {
			if d.Estimate != nil {
				return nil, fmt.Errorf("it is an estimate: %s", *d.Estimate)
			}
			all := replays(d)
			all[0].Reserved = reserved + requested
			return all, nil
		}
	}
	return nil, fmt.Errorf("it does not end in this error, of %s", requested)
}

func replays(d *whatif.Device) (all []advice.Replay) {
	for _, r := range d.Results {
		all = append(all, advice.Replay{Settings: r.Settings, Reserved: r.Reserved, Fails: r.Failed != nil && *r.Failed})
	}
	return all
}
