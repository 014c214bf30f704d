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
	"fmt"
	"io/fs"
	"path/filepath"

	"vramscope/internal/install"
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
	directory, err := install.Below(cache, Name())
	if err != nil {
		return "", fmt.Errorf("make the directory of the Python probe: %w", err)
	}
	return directory, write(directory, 0o600)
}

// InstallShared puts the agent into a directory that every user can read, as in
// the image of a container.
func InstallShared(directory string) error {
	if err := install.Directory(directory, 0o755); err != nil {
		return fmt.Errorf("make the directory of the Python probe: %w", err)
	}
	return write(directory, 0o644)
}

func write(directory string, mode fs.FileMode) error {
	for _, f := range files() {
		if err := install.File(filepath.Join(directory, f.name), f.content, mode); err != nil {
			return fmt.Errorf("write the Python probe: %w", err)
		}
	}
	return nil
}

// Source is the Python probe, for whoever brings it into a program in another
// way than by PYTHONPATH.
func Source() []byte { return bytes.Clone(probeSource) }
