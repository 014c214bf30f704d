package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// SnapshotFormat is what a snapshot is wanted as.
type SnapshotFormat string

// The formats that have a meaning to vramscope. A probe may have others, and
// refuses what it has not.
const (
	// SegmentsFormat is the map of segments and blocks, in JSON that names its
	// own schema: SegmentsSchema.
	SegmentsFormat SnapshotFormat = "segments"
	// PyTorchFormat is PyTorch's own snapshot, the pickle that
	// torch.cuda.memory._dump_snapshot writes and its visualiser opens.
	PyTorchFormat SnapshotFormat = "pytorch"
)

// MaxSnapshotFile is the largest snapshot that is taken into a file: PyTorch's
// own grows with the history that the program records.
const MaxSnapshotFile = 8 << 30

// maxForeignSnapshot is the largest that root takes from another user. It goes
// through memory: whoever is lent a file can write to it as long as it likes,
// and fill the disk that it is on.
const maxForeignSnapshot = 1 << 30

// How long a snapshot may take. A map that comes later shows nothing that is
// still true; a pickle of a long history is waited for.
const (
	segmentsDeadline = 10 * time.Second
	snapshotDeadline = 10 * time.Minute
)

// SnapshotRequest asks where a process's memory lies. The descriptor to write
// to goes along with it.
type SnapshotRequest struct {
	Format SnapshotFormat `json:"format,omitempty"` // empty: SegmentsFormat
	// Devices limits a map to these UUIDs; empty means all that the process
	// uses. PyTorch's own snapshot is always whole.
	Devices []string `json:"devices,omitempty"`
}

// check is what a server refuses before it asks its handler.
func (r *SnapshotRequest) check() *Error {
	if r.Format == "" {
		r.Format = SegmentsFormat
	}
	if len(r.Format) > maxText {
		return failure(BadRequest, "format is %d bytes long", len(r.Format))
	}
	if len(r.Devices) > maxDevices || slices.ContainsFunc(r.Devices, func(uuid string) bool { return !wellFormedUUID(uuid) }) {
		return failure(BadRequest, "devices are at most %d UUIDs in NVML's form, as in stats", maxDevices)
	}
	return nil
}

// SnapshotResult tells what a probe has written into the descriptor that came
// with the request.
type SnapshotResult struct {
	Format       string   `json:"format"` // names the layout of the content: SegmentsSchema, "pytorch"
	Bytes        int64    `json:"bytes"`  // from the start of the file
	Notes        []string `json:"notes,omitempty"`
	Milliseconds float64  `json:"ms,omitempty"`
}

func (r *SnapshotResult) check(most int64) error {
	if r.Bytes < 0 || r.Bytes > most {
		return fmt.Errorf("it has written %d bytes, of at most %d", r.Bytes, most)
	}
	if r.Milliseconds < 0 || r.Milliseconds > 1e9 {
		return fmt.Errorf("it took %g ms", r.Milliseconds)
	}
	r.Format = clip(r.Format)
	r.Notes = r.Notes[:min(len(r.Notes), maxNotes)]
	for i, note := range r.Notes {
		r.Notes[i] = clip(note)
	}
	return nil
}

// Snapshot has the process write a snapshot into a file, which must be a
// regular one, open for writing and empty. The probe may go on writing after
// an error: the file is then of no more use.
func (c *Client) Snapshot(ctx context.Context, wanted SnapshotRequest, file *os.File) (SnapshotResult, error) {
	if c.Foreign() {
		return c.foreignSnapshot(ctx, wanted, file, maxForeignSnapshot)
	}
	result, err := c.snapshot(ctx, snapshotDeadline, wanted, file, MaxSnapshotFile)
	if err != nil {
		return result, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		return result, c.wrap(cmdSnapshot, err)
	case info.Size() != result.Bytes:
		return result, c.broken(cmdSnapshot, fmt.Errorf("it says %d bytes and has written %d", result.Bytes, info.Size()))
	}
	return result, nil
}

// foreignSnapshot lends another user's process a file in memory, which cannot
// grow, and copies what has been written there.
func (c *Client) foreignSnapshot(ctx context.Context, wanted SnapshotRequest, file *os.File, most int64) (SnapshotResult, error) {
	lent, err := newSnapshotFile(most)
	if err != nil {
		return SnapshotResult{}, c.wrap(cmdSnapshot, err)
	}
	defer func() { _ = lent.Close() }() // only read
	result, err := c.snapshot(ctx, snapshotDeadline, wanted, lent, most)
	if err != nil {
		return result, err
	}
	if _, err := io.Copy(file, io.NewSectionReader(lent, 0, result.Bytes)); err != nil {
		return result, c.wrap(cmdSnapshot, err)
	}
	return result, nil
}

func (c *Client) snapshot(ctx context.Context, timeout time.Duration, wanted SnapshotRequest, file *os.File, most int64) (SnapshotResult, error) {
	if err := wanted.check(); err != nil {
		return SnapshotResult{}, c.wrap(cmdSnapshot, err)
	}
	var line snapshotLine
	q := question{request: request{Cmd: cmdSnapshot}, snapshot: &wanted, file: file}
	if err := c.ask(ctx, timeout, q, &line, &line.reply); err != nil {
		return SnapshotResult{}, err
	}
	if err := line.check(most); err != nil {
		return SnapshotResult{}, c.broken(cmdSnapshot, err)
	}
	return line.SnapshotResult, nil
}

// Segments asks where the process's memory lies, on some devices or on all.
func (c *Client) Segments(ctx context.Context, devices ...string) (Segments, error) {
	file, err := newSnapshotFile(SnapshotSize)
	if err != nil {
		return Segments{}, c.wrap(cmdSnapshot, err)
	}
	defer func() { _ = file.Close() }() // only read
	result, err := c.snapshot(ctx, segmentsDeadline, SnapshotRequest{Format: SegmentsFormat, Devices: devices}, file, SnapshotSize)
	if err != nil {
		return Segments{}, err
	}
	if result.Format != SegmentsSchema {
		return Segments{}, c.broken(cmdSnapshot, fmt.Errorf("its map is %q; this is %s: update the older of the two", result.Format, SegmentsSchema))
	}
	content := make([]byte, result.Bytes)
	if _, err := file.ReadAt(content, 0); err != nil {
		return Segments{}, c.wrap(cmdSnapshot, err)
	}
	found, err := decodeSegments(content)
	if err != nil {
		return Segments{}, c.broken(cmdSnapshot, fmt.Errorf("its map of segments: %w", err))
	}
	return found, nil
}

var errNotWritable = errors.New("the descriptor is not open for writing")
