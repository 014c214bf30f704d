package fakedriver

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"vramscope/internal/needs"
)

// Variant is a generation of the driver, with the symbols that it exports.
type Variant string

// The variants. Each needs its own process: go-nvml keeps the first library that it
// loads.
const (
	Current Variant = "current" // every symbol
	R470    Variant = "r470"    // 2021: MIG and process lists v2; memory v1 only, no _v3, throttle reasons by their old name only
	V1Only  Variant = "v1"      // only the first version of every call, and no MIG
)

// ErrNoCompiler is returned if there is no C compiler.
var ErrNoCompiler = errors.New("no C compiler: install gcc or clang, or set CC")

//go:embed state/*.c state/*.h nvml/*.c nvml/*.h cuda/*.c cuda/*.h cudart/*.c cudart/*.h idle/*.c devices/*.c
var sources embed.FS

// Build compiles the driver, once for all tests of this user, and returns the path
// of its libnvidia-ml.so.1; libcuda.so.1 is in the same directory.
// Without a compiler the test is skipped, or fails in .ci/run (needs.Missing).
func Build(tb needs.TB, variant Variant) string {
	tb.Helper()
	library, err := Compile(variant)
	if errors.Is(err, ErrNoCompiler) {
		needs.Missing(tb, "fake driver: %v", err)
	}
	if err != nil {
		tb.Fatalf("%v", err)
	}
	return library
}

// Compile does what Build does, for callers that are not tests. Without a C compiler it returns
// ErrNoCompiler.
func Compile(variant Variant) (string, error) {
	header, err := headerDirectory()
	if err != nil {
		return "", err
	}
	nvml := product{
		name: "libnvidia-ml.so.1",
		link: "libnvidia-ml.so", // nvtop asks for this name first
		flags: []string{
			"-shared", "-fPIC", "-fvisibility=hidden", "-pthread",
			"-Wl,-soname,libnvidia-ml.so.1", "-Wl,--no-undefined", "-isystem", header,
		},
		sources: []string{"state", "nvml"},
	}
	switch variant {
	case R470:
		nvml.flags = append(nvml.flags, "-DNVML_R470")
	case V1Only:
		nvml.flags = append(nvml.flags, "-DNVML_V1_ONLY")
	}
	cuda := product{
		name: "libcuda.so.1",
		link: "libcuda.so",
		flags: []string{
			"-shared", "-fPIC", "-fvisibility=hidden", "-pthread", "-Wmissing-prototypes",
			// Without -Bsymbolic cuGetProcAddress would return the functions of a preloaded library.
			"-Wl,-soname,libcuda.so.1", "-Wl,--no-undefined", "-Wl,-Bsymbolic",
		},
		sources: []string{"state", "cuda"},
	}
	return compile(nvml, cuda)
}

// CUDA returns the libcuda.so.1 beside a libnvidia-ml.so.1.
func CUDA(library string) string { return filepath.Join(filepath.Dir(library), "libcuda.so.1") }

// Environment returns the variables with which a program finds the library and its state, and
// libraries and programs in more directories.
func Environment(library, state string, more ...string) []string {
	search := strings.Join(append([]string{filepath.Dir(library)}, more...), ":")
	if before := os.Getenv("LD_LIBRARY_PATH"); before != "" {
		search += ":" + before
	}
	environment := []string{"LD_LIBRARY_PATH=" + search, "VRAMSCOPE_FAKE_STATE=" + state}
	if len(more) > 0 {
		environment = append(environment, "PATH="+strings.Join(append(more, os.Getenv("PATH")), ":"))
	}
	return environment
}

// headerDirectory returns where go-nvml keeps the nvml.h that it was generated from.
func headerDirectory() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "list", "-e", "-find", "-f", "{{.Dir}}", "github.com/NVIDIA/go-nvml/pkg/nvml")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if root := moduleRoot(); root != "" {
		cmd.Dir = root
	}
	out, err := cmd.Output()
	directory := strings.TrimSpace(string(out))
	if err != nil || directory == "" {
		return "", fmt.Errorf("fakedriver: find nvml.h of go-nvml with go list (is go on the PATH?): %w", err)
	}
	if _, err := os.Stat(filepath.Join(directory, "nvml.h")); err != nil {
		return "", fmt.Errorf("fakedriver: %w", err)
	}
	return directory, nil
}

// product is a file that the compiler makes.
type product struct {
	name, link string // link is another name of the file, "" for none
	flags      []string
	sources    []string // folders of its .c files
	libraries  []string // -l…
}

// compile makes products in one directory of the cache and returns the path of the
// first. The directory is named by a hash of all inputs and appears by rename, so
// several processes may build at once.
func compile(products ...product) (string, error) {
	compiler, err := findCompiler()
	if err != nil {
		return "", err
	}
	cache, err := cacheDirectory()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	if err := tar.NewWriter(sum).AddFS(sources); err != nil {
		return "", fmt.Errorf("fakedriver: %w", err)
	}
	for i, p := range products {
		products[i].flags = append([]string{"-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"}, p.flags...)
		fmt.Fprintf(sum, "%q %q %q %q %q %q\n", compiler, p.name, p.link, products[i].flags, p.sources, p.libraries)
	}
	directory := filepath.Join(cache, hex.EncodeToString(sum.Sum(nil)[:12]))
	built := filepath.Join(directory, products[0].name)
	if _, err := os.Stat(built); err == nil {
		return built, nil
	}

	work, err := os.MkdirTemp(cache, "build-")
	if err != nil {
		return "", fmt.Errorf("fakedriver: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }() // does nothing after the rename
	if err := os.CopyFS(work, sources); err != nil {
		return "", fmt.Errorf("fakedriver: %w", err)
	}
	for _, p := range products {
		if err := p.make(compiler, work); err != nil {
			return "", err
		}
	}
	if err := os.Rename(work, directory); err != nil {
		if _, other := os.Stat(built); other == nil {
			return built, nil // another process was faster
		}
		return "", fmt.Errorf("fakedriver: %w", err)
	}
	return built, nil
}

func (p product) make(compiler, work string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	arguments := append(slices.Clone(p.flags), "-o", p.name)
	for _, folder := range p.sources {
		files, err := fs.Glob(sources, folder+"/*.c")
		if err != nil {
			return fmt.Errorf("fakedriver: %w", err)
		}
		arguments = append(arguments, files...)
	}
	arguments = append(arguments, p.libraries...)
	cmd := exec.CommandContext(ctx, compiler, arguments...)
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("fakedriver: compile %s: %w\n%s", p.name, err, out)
	}
	if p.link == "" {
		return nil
	}
	if err := os.Symlink(p.name, filepath.Join(work, p.link)); err != nil {
		return fmt.Errorf("fakedriver: %w", err)
	}
	return nil
}

func findCompiler() (string, error) {
	for _, name := range []string{os.Getenv("CC"), "cc", "gcc", "clang"} {
		if found, err := exec.LookPath(name); err == nil {
			return found, nil
		}
	}
	return "", ErrNoCompiler
}
