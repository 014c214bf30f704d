package agent

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"vramscope/internal/install"
)

//go:embed source/*.py
var parts embed.FS

//go:embed sitecustomize.py
var siteSource []byte

// sums are the hashes of the installed files. They are committed, so that vramscope run joins the
// module only to write it. A test compares them with the files.
//
//go:embed SHA256SUMS
var sums []byte

// firstFiles begin the module, and lastFile ends it. The files between them only define names, so
// their order does not matter.
var firstFiles = []string{"header.py", "library.py", "program.py", "runtime.py"}

const lastFile = "startup.py"

// Source returns the Python probe, joined into one file. A comment before each part names its file.
func Source() []byte {
	names := slices.Clone(firstFiles)
	entries, _ := parts.ReadDir("source") // embedded, sorted by name
	for _, entry := range entries {
		if name := entry.Name(); !slices.Contains(firstFiles, name) && name != lastFile {
			names = append(names, name)
		}
	}
	var module bytes.Buffer
	module.WriteString("# Joined from vramscope's probe/agent/source. DO NOT EDIT.\n")
	for i, name := range append(names, lastFile) {
		if i > 0 {
			module.WriteString("\n\n")
		}
		fmt.Fprintf(&module, "# --- source/%s ---\n\n", name)
		if file, err := parts.Open("source/" + name); err == nil { // embedded
			_, _ = module.ReadFrom(file)
		}
	}
	return module.Bytes()
}

// Library returns the part of the probe that provides C modules without an import.
func Library() []byte {
	content, _ := parts.ReadFile("source/library.py") // embedded
	return content
}

// files are the installed files.
var files = []struct {
	name    string
	content func() []byte
}{{"vramscope_probe.py", Source}, {"sitecustomize.py", func() []byte { return siteSource }}}

// Name returns the name of the agent's directory. It contains a hash of sums, so that running
// programs keep the version that they started with.
func Name() string {
	sum := sha256.Sum256(sums)
	return fmt.Sprintf("python-%x", sum[:6])
}

// Install writes the agent to a directory below cache, making both if needed, and returns the
// directory. Only this user can write in them: whoever can write to a directory on PYTHONPATH runs
// code in the program.
func Install(cache string) (string, error) {
	directory, err := install.Below(cache, Name())
	if err != nil {
		return "", fmt.Errorf("make the directory of the Python probe: %w", err)
	}
	return directory, write(directory, 0o600)
}

// InstallShared writes the agent to a directory that every user can read, as in a container image.
func InstallShared(directory string) error {
	if err := install.Shared(directory); err != nil {
		return fmt.Errorf("make the directory of the Python probe: %w", err)
	}
	return write(directory, 0o644)
}

func write(directory string, mode fs.FileMode) error {
	for _, f := range files {
		content := func() ([]byte, error) { return f.content(), nil }
		if err := install.Listed(filepath.Join(directory, f.name), f.name, sums, content, mode); err != nil {
			return fmt.Errorf("write the Python probe: %w", err)
		}
	}
	return nil
}
