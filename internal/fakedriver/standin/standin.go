package standin

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

//go:embed functions/functions.c
var functions []byte

//go:embed functions/ptxas
var assembler []byte

// answering are the functions that functions/functions.c defines.
var answering = func() []string {
	var names []string
	for _, match := range regexp.MustCompile(`#ifdef WANT_(\w+)`).FindAllSubmatch(functions, -1) {
		names = append(names, string(match[1]))
	}
	return names
}()

// Make compiles stand-ins for the libraries that those below folders need, with the C compiler, and
// returns the directory of the stand-ins. It is below cache, and named by a hash of all inputs.
func Make(compiler, cache string, folders ...string) (string, error) {
	wanted := libraries{}
	for _, folder := range folders {
		if err := scan(folder, wanted); err != nil {
			return "", err
		}
	}
	names := slices.Sorted(maps.Keys(wanted))
	sum := sha256.New()
	sum.Write(assembler)
	for _, name := range names {
		fmt.Fprintf(sum, "%q %q %q %q\n", compiler, name, wanted[name].source(), wanted[name].versions())
	}
	directory := filepath.Join(cache, "standin-"+hex.EncodeToString(sum.Sum(nil)[:12]))
	if _, err := os.Stat(directory); err == nil {
		return directory, nil
	}
	work, err := os.MkdirTemp(cache, "build-")
	if err != nil {
		return "", fmt.Errorf("standin: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }() // does nothing after the rename
	for _, name := range names {
		if err := wanted[name].build(compiler, work); err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(filepath.Join(work, "ptxas"), assembler, 0o700); err != nil { //nolint:gosec // it is run
		return "", fmt.Errorf("standin: %w", err)
	}
	if err := os.Rename(work, directory); err != nil {
		if _, other := os.Stat(directory); other != nil {
			return "", fmt.Errorf("standin: %w", err)
		} // another process was faster
	}
	return directory, nil
}

// build compiles one library.
func (l *library) build(compiler, directory string) error {
	source, versions := filepath.Join(directory, l.name+".c"), filepath.Join(directory, l.name+".map")
	if err := os.WriteFile(source, l.source(), 0o600); err != nil {
		return fmt.Errorf("standin: %w", err)
	}
	if err := os.WriteFile(versions, l.versions(), 0o600); err != nil {
		return fmt.Errorf("standin: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	arguments := []string{
		"-shared", "-fPIC", "-Os", "-s", "-fno-builtin", "-Wl,-soname," + l.name,
		"-o", filepath.Join(directory, l.name), source,
	}
	if len(l.symbols) > 0 {
		arguments = append(arguments, "-Wl,--version-script="+versions)
	}
	if out, err := exec.CommandContext(ctx, compiler, arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("standin: compile %s: %w\n%s", l.name, err, out)
	}
	return nil
}

// source returns the C of the library.
func (l *library) source() []byte {
	var text bytes.Buffer
	var empty []string
	for _, name := range slices.Sorted(maps.Keys(l.symbols)) {
		if slices.Contains(answering, name) {
			fmt.Fprintf(&text, "#define WANT_%s\n", name)
		} else {
			empty = append(empty, name)
		}
	}
	text.Write(functions)
	for _, name := range empty {
		fmt.Fprintf(&text, "EMPTY(%s)\n", name)
	}
	return text.Bytes()
}

// versions returns the linker's version script, which gives each symbol the version
// that programs ask for. A symbol that is asked for without a version is found in any version.
func (l *library) versions() []byte {
	byVersion := map[string][]string{}
	for name, version := range l.symbols {
		if version == "" {
			version = l.name
		}
		byVersion[version] = append(byVersion[version], name)
	}
	var text bytes.Buffer
	for _, version := range slices.Sorted(maps.Keys(byVersion)) {
		slices.Sort(byVersion[version])
		fmt.Fprintf(&text, "%s { global: %s; };\n", version, strings.Join(byVersion[version], "; "))
	}
	return text.Bytes()
}
