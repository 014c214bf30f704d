package probe

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/quantity"
)

// SnapshotFormat is the format of a snapshot.
type SnapshotFormat string

// The formats that vramscope knows. A probe refuses a format that it does not have.
const (
	// SegmentsFormat is the map of segments and blocks, in JSON with the schema SegmentsSchema.
	SegmentsFormat SnapshotFormat = "segments"
	// PyTorchFormat is PyTorch's own snapshot, the pickle that
	// torch.cuda.memory._dump_snapshot writes and its visualiser opens.
	PyTorchFormat SnapshotFormat = "pytorch"
	// SummaryFormat is PyTorch's memory_summary(), a text.
	SummaryFormat SnapshotFormat = "summary"
)

// Recording is how long a process records which source lines allocate: for Seconds, or until Steps
// training steps have ended if that is sooner.
type Recording struct {
	Seconds float64 `json:"seconds"`
	Steps   int64   `json:"steps,omitempty"`
}

// MaxSnapshotFile is the largest snapshot that is accepted from a probe of this user, in bytes.
// PyTorch's own grows with the history that the program records.
const MaxSnapshotFile = 8 << 30

// SnapshotSize is the largest map of segments that Segments accepts, in bytes.
const SnapshotSize = 16 << 20

// maxForeignSnapshot limits the snapshot that root accepts from another user, in bytes. It is first
// written to memory: a descriptor of root's file would let that user fill root's disk.
const maxForeignSnapshot = 1 << 30

// How long a snapshot may take: PyTorch's own takes minutes if it has a long history.
const (
	segmentsDeadline = 10 * time.Second
	snapshotDeadline = 10 * time.Minute
)

// SnapshotRequest asks for a snapshot. The descriptor to write to is sent with it.
type SnapshotRequest struct {
	Format SnapshotFormat `json:"format,omitempty"` // empty: SegmentsFormat
	// Devices limits a map to these UUIDs; empty means all that the process uses. The other formats
	// are of all devices.
	Devices []string `json:"devices,omitempty"`
	// Record makes PyTorch first record which lines allocate. Seconds must be a whole number.
	Record *Recording `json:"record,omitempty"`
}

func (r *SnapshotRequest) check() *Error {
	if r.Format == "" {
		r.Format = SegmentsFormat
	}
	if len(r.Format) > maxText {
		return failure(BadRequest, "format is %d bytes long", len(r.Format))
	}
	return checkDevices(r.Devices)
}

// SnapshotResult describes what a probe has written to the descriptor.
type SnapshotResult struct {
	Format       string   `json:"format"` // the layout of the content: SegmentsSchema, "pytorch"
	Bytes        int64    `json:"bytes"`  // from the start of the file
	Notes        []string `json:"notes,omitempty"`
	Milliseconds float64  `json:"ms,omitempty"`
	// Recorded is how long the process recorded; nil if it did not.
	Recorded *Recording `json:"recorded,omitempty"`
}

func (r *SnapshotResult) check(limit int64) error {
	if r.Bytes < 0 || r.Bytes > limit {
		return fmt.Errorf("it wrote %d bytes, the limit is %d", r.Bytes, limit)
	}
	if r.Recorded != nil && (checkDuration(r.Recorded.Seconds) != nil || !countable(quantity.From(r.Recorded.Steps, quantity.Probe))) {
		return fmt.Errorf("it recorded %+v", *r.Recorded)
	}
	r.Format, r.Notes = clip(r.Format), clipAll(r.Notes, maxNotes)
	return checkDuration(r.Milliseconds)
}

// Snapshot makes the process write a snapshot to a regular, empty file that is
// open for writing. After an error the probe may still write to the file.
func (c *Client) Snapshot(ctx context.Context, wanted SnapshotRequest, file *os.File) (SnapshotResult, error) {
	if c.Foreign() {
		if wanted.Record != nil {
			return SnapshotResult{}, c.wrap(cmdSnapshot, failure(Forbidden, "another user's process records for its owner alone"))
		}
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
		return result, c.broken(cmdSnapshot, fmt.Errorf("it reports %d bytes and wrote %d", result.Bytes, info.Size()))
	}
	return result, nil
}

// foreignSnapshot passes another user's process a file in memory that cannot
// grow, and copies its content.
func (c *Client) foreignSnapshot(ctx context.Context, wanted SnapshotRequest, file *os.File, limit int64) (SnapshotResult, error) {
	lent, err := newSnapshotFile(limit)
	if err != nil {
		return SnapshotResult{}, c.wrap(cmdSnapshot, err)
	}
	defer func() { _ = lent.Close() }() // only read
	result, err := c.snapshot(ctx, snapshotDeadline, wanted, lent, limit)
	if err != nil {
		return result, err
	}
	if _, err := io.Copy(file, io.NewSectionReader(lent, 0, result.Bytes)); err != nil {
		return result, c.wrap(cmdSnapshot, err)
	}
	return result, nil
}

func (c *Client) snapshot(ctx context.Context, timeout time.Duration, wanted SnapshotRequest, file *os.File, limit int64) (SnapshotResult, error) {
	if err := wanted.check(); err != nil {
		return SnapshotResult{}, c.wrap(cmdSnapshot, err)
	}
	var line snapshotLine
	check := func() error { return line.check(limit) }
	if wanted.Record != nil {
		timeout += time.Duration(wanted.Record.Seconds * float64(time.Second))
	}
	if err := c.ask(ctx, timeout, &snapshotQuestion{request{Cmd: cmdSnapshot}, wanted, file}, &line, check); err != nil {
		return SnapshotResult{}, err
	}
	if wanted.Record != nil && line.Recorded == nil {
		return SnapshotResult{}, c.wrap(cmdSnapshot, failure(Unsupported, "its probe is older than this vramscope and records nothing: start the program anew"))
	}
	return line.SnapshotResult, nil
}

// Segments asks for the map of the process's memory, on some devices or all.
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
		return Segments{}, c.broken(cmdSnapshot, fmt.Errorf("the map is %q, this is %s: update the older of the two", result.Format, SegmentsSchema))
	}
	content := make([]byte, result.Bytes)
	if _, err := file.ReadAt(content, 0); err != nil {
		return Segments{}, c.wrap(cmdSnapshot, err)
	}
	found, err := decodeSegments(content)
	if err == nil {
		err = checkTime(time.Now(), found.TimeNS, c.process.StartTime)
	}
	if err != nil {
		return Segments{}, c.broken(cmdSnapshot, fmt.Errorf("the map: %w", err))
	}
	return found, nil
}

// newSnapshotFile makes a file in memory that a probe can write but not enlarge.
// Unwritten pages cost nothing.
func newSnapshotFile(size int64) (*os.File, error) {
	fd, err := unix.MemfdCreate("vramscope-snapshot", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), "vramscope-snapshot")
	err = file.Truncate(size)
	if err == nil {
		_, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("bound a file in memory: %w", err)
	}
	return file, nil
}
