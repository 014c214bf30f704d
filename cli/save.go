package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/adrg/xdg"

	"vramscope/sampler/snapshot"
)

// stateHome is the directory for what vramscope leaves behind:
// $XDG_STATE_HOME/vramscope.
func stateHome() string {
	xdg.Reload() // the package reads the environment when the program starts, before a test can set it
	return filepath.Join(xdg.StateHome, "vramscope")
}

// saveSnapshot writes a snapshot as once --format json does, to a file that is
// named for the time of the snapshot. It replaces no file, and leaves no
// incomplete one.
func saveSnapshot(directory string, snap *snapshot.Snapshot) (path string, err error) {
	var text bytes.Buffer
	if err := writeJSON(&text, snap); err != nil {
		return "", err
	}
	// Command lines are private.
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return "", notSaved(directory, err)
	}
	draft, err := os.CreateTemp(directory, ".snapshot-*")
	if err != nil {
		return "", notSaved(directory, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(draft.Name()) // err has the reason
		}
	}()
	_, err = draft.Write(text.Bytes())
	if closed := draft.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return "", notSaved(directory, err)
	}
	if path, err = reserve(filepath.Join(directory, "snapshot-"+snap.Time.Format("20060102-150405"))); err != nil {
		return "", notSaved(directory, err)
	}
	if err = os.Rename(draft.Name(), path); err != nil {
		_ = os.Remove(path) // empty as yet
		return "", notSaved(directory, err)
	}
	return path, nil
}

// reserve makes an empty file: NAME.json or, where there is one, NAME-2.json
// and so on.
func reserve(name string) (path string, err error) {
	path = name + ".json"
	for i := 2; ; i++ {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			return path, file.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		path = name + "-" + strconv.Itoa(i) + ".json"
	}
}

// notSaved puts the reason before the path: on a narrow screen the end is cut.
func notSaved(directory string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("snapshot not saved: %w: %s", err, directory)
}
