package actions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"vramscope/cli/command"
	"vramscope/internal/text"
)

// draft is a file that gets its name only when it is complete.
type draft struct {
	file   *os.File
	target string // "-": standard output
	force  bool   // it may replace a file
}

// newDraft makes a private file, beside the target unless that is standard output.
func newDraft(target string, force bool) (*draft, error) {
	d := &draft{target: target, force: force}
	directory := filepath.Dir(target)
	if target == "-" {
		directory = "" // a temporary directory: a probe cannot write to a pipe
	} else if err := d.free(); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(directory, ".vramscope-snapshot-*")
	if err != nil {
		return nil, cannotWrite(target, err)
	}
	d.file = file
	return d, nil
}

func (d *draft) free() error {
	info, err := os.Lstat(d.target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return cannotWrite(d.target, err)
	case info.IsDir():
		return command.Usage("%s is a directory: name a file in it", text.Clean(d.target))
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeSymlink == 0:
		return command.Usage("%s is not a regular file", text.Clean(d.target))
	case !d.force:
		return command.Usage("%s exists already", text.Clean(d.target)).Then("  --force   replaces it")
	}
	return nil
}

// finish gives the file its name, or copies it to standard output. Without force it refuses an existing target.
func (d *draft) finish(ctx context.Context, stdout io.Writer) error {
	if d.target == "-" {
		_, err := d.file.Seek(0, io.SeekStart)
		if err == nil {
			_, err = io.Copy(stdout, d.file)
		}
		if err != nil {
			return cannotWrite("standard output", err)
		}
		return nil
	}
	// On a full disk, Sync can be the first call to fail.
	if err := d.file.Sync(); err != nil {
		return cannotWrite(d.target, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !d.force {
		if err := os.Link(d.file.Name(), d.target); err == nil {
			return nil
		}
		if refused := d.free(); refused != nil {
			return refused
		}
		// The target is free: perhaps the file system has no hard links.
	}
	if err := os.Rename(d.file.Name(), d.target); err != nil {
		return cannotWrite(d.target, err)
	}
	return nil
}

// discard closes the draft and removes its temporary name.
func (d *draft) discard() {
	_ = d.file.Close()           // it was synced, or is not needed
	_ = os.Remove(d.file.Name()) // it may have been renamed
}

func cannotWrite(target string, err error) error {
	return fmt.Errorf("cannot write %s: %w", text.Clean(target), command.WithoutPath(err))
}
