package agent

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io/fs"
	"path/filepath"

	"vramscope/internal/install"
)

//go:embed vramscope_probe.py
var probeSource []byte

//go:embed sitecustomize.py
var siteSource []byte

// sums are the files' hashes, of make agent: they cost run no time.
//
//go:embed SHA256SUMS
var sums []byte

type file struct {
	name    string
	content []byte
}

func files() []file {
	return []file{{"vramscope_probe.py", probeSource}, {"sitecustomize.py", siteSource}}
}

// Name returns the name of the agent's directory. It contains a hash of the files'
// hashes, so that running programs keep the version that they started with.
func Name() string {
	sum := sha256.Sum256(sums)
	return fmt.Sprintf("python-%x", sum[:6])
}

// Install writes the agent to a directory below cache, making both if needed, and
// returns the directory. Both are for this user alone: whoever can write to a
// directory on PYTHONPATH runs code in the program.
func Install(cache string) (string, error) {
	directory, err := install.Below(cache, Name())
	if err != nil {
		return "", fmt.Errorf("make the directory of the Python probe: %w", err)
	}
	return directory, write(directory, 0o600)
}

// InstallShared writes the agent to a directory that every user can read, as in
// a container image.
func InstallShared(directory string) error {
	if err := install.Shared(directory); err != nil {
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

// Source returns the Python probe, to be loaded other than by PYTHONPATH.
func Source() []byte { return bytes.Clone(probeSource) }

// Library returns the part of the probe that provides C modules without an import.
func Library() []byte {
	_, rest, _ := bytes.Cut(probeSource, []byte("# --- source/library.py ---\n"))
	part, _, _ := bytes.Cut(rest, []byte("# --- source/"))
	return bytes.Clone(part)
}
