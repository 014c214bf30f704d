// Package agent is the probe of Python programs: one Python file of the
// standard library alone, and what brings it into a program that is started.
//
//	Install ── directory with vramscope_probe.py, sitecustomize.py
//	   ↓ PYTHONPATH
//	python ── site ── sitecustomize ── vramscope_probe ── import hook
//	                        ↓                                 ↓ torch, cupy, jax … is imported
//	         the sitecustomize that there was                 thread ── socket ── monitor
package agent

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

//go:embed vramscope_probe.py
var probeSource []byte

//go:embed sitecustomize.py
var siteSource []byte

// file is one of the files of the agent.
type file struct {
	name    string
	content []byte
}

func files() []file {
	return []file{{"vramscope_probe.py", probeSource}, {"sitecustomize.py", siteSource}}
}

// Name is the name of the agent's directory. It tells its content: programs
// that run with an older one keep it.
func Name() string {
	sum := sha256.New()
	for _, f := range files() {
		sum.Write(f.content)
		sum.Write([]byte{0})
	}
	return "python-" + hex.EncodeToString(sum.Sum(nil))[:12]
}

// Install puts the agent into a directory, which it makes, below cache, which
// it makes too, and returns the directory. Both are for this user alone: whoever
// can write to a directory on PYTHONPATH runs code in the program. What is there
// already is not written again.
func Install(cache string) (string, error) {
	directory := filepath.Join(cache, Name())
	if err := os.MkdirAll(filepath.Dir(cache), 0o700); err != nil {
		return "", fmt.Errorf("make the directory of the Python probe: %w", err)
	}
	for _, path := range []string{cache, directory} {
		if err := makePrivate(path, 0o700, 0o022); err != nil {
			return "", fmt.Errorf("make the directory of the Python probe: %w", err)
		}
	}
	return directory, write(directory, 0o600)
}

// InstallShared puts the agent into a directory that every user can read, as in
// the image of a container.
func InstallShared(directory string) error {
	if err := makePrivate(directory, 0o755, 0o022); err != nil {
		return fmt.Errorf("make the directory of the Python probe: %w", err)
	}
	return write(directory, 0o644)
}

// makePrivate makes a directory if it is not there, and refuses one that is
// another user's, a link, or has one of the bits of refused.
func makePrivate(path string, mode, refused fs.FileMode) error {
	if err := os.Mkdir(path, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is a symbolic link or no directory", path)
	case !ok || int(owner.Uid) != os.Geteuid():
		return fmt.Errorf("%s is another user's", path)
	case info.Mode().Perm()&refused != 0:
		return fmt.Errorf("%s can be written by others (mode %04o); chmod go-w it", path, info.Mode().Perm())
	}
	return nil
}

// write writes the files that are not there as they should be. Each appears
// whole: several programs may be started at once.
func write(directory string, mode fs.FileMode) error {
	for _, f := range files() {
		path := filepath.Join(directory, f.name)
		if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, f.content) {
			continue
		}
		if err := replace(directory, path, f.content, mode); err != nil {
			return fmt.Errorf("write the Python probe: %w", err)
		}
	}
	return nil
}

func replace(directory, path string, content []byte, mode fs.FileMode) error {
	scratch, err := os.CreateTemp(directory, ".new-")
	if err != nil {
		return err
	}
	_, err = scratch.Write(content)
	err = errors.Join(err, scratch.Chmod(mode), scratch.Close())
	if err == nil {
		err = os.Rename(scratch.Name(), path)
	}
	if err != nil {
		_ = os.Remove(scratch.Name()) // it is of no use
	}
	return err
}

// Source is the Python probe, for whoever brings it into a program in another
// way than by PYTHONPATH.
func Source() []byte { return bytes.Clone(probeSource) }
