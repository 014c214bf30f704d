package fakedriver

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"vramscope/internal/needs"
)

// BuildClient compiles testdata/client.c.
func BuildClient(tb needs.TB) string {
	tb.Helper()
	header, err := headerDirectory()
	if err != nil {
		tb.Fatalf("%v", err)
	}
	source, err := filepath.Abs("testdata/client.c")
	if err != nil {
		tb.Fatalf("%v", err)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	// compile hashes the embedded sources and the flags. The definition puts this source into the hash.
	flags := []string{"-isystem", header, fmt.Sprintf("-DSOURCE_%x", sha256.Sum256(text)), source, "-ldl"}
	program, err := compile(product{name: "client", flags: flags})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	return program
}

// BuildCUDAClient compiles testdata/cuda_client.c, linked as any CUDA program is.
func BuildCUDAClient(tb needs.TB) string {
	tb.Helper()
	program, err := compileCUDAClient(CUDA(Build(tb, Current)))
	if err != nil {
		tb.Fatalf("%v", err)
	}
	return program
}

func compileCUDAClient(library string, more ...string) (string, error) {
	header, err := filepath.Abs("cuda")
	if err != nil {
		return "", err
	}
	flags := append([]string{"-I", header}, more...)
	for _, name := range []string{"cuda_client.h", "cuda_client.c", "cuda_device.c", "cuda_module.c", "cuda_work.c"} {
		file, err := filepath.Abs(filepath.Join("testdata", name))
		if err != nil {
			return "", err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		flags = append(flags, fmt.Sprintf("-DSOURCE_%x", sha256.Sum256(text)))
		if filepath.Ext(file) == ".c" {
			flags = append(flags, file)
		}
	}
	return compile(product{name: "cuda-client", flags: append(flags, library, "-pthread", "-ldl")})
}

// BuildRuntimeClient compiles testdata/cudart_client.c, linked to the runtime of a
// major version as any CUDA program is, and returns it with the runtime's directory.
func BuildRuntimeClient(tb needs.TB, major int) (program, directory string) {
	tb.Helper()
	directory, err := CompileRuntime()
	if err != nil {
		tb.Fatalf("%v", err)
	}
	program, err = compileRuntimeProgram("cudart_client.c", major, filepath.Join(directory, runtimeLibrary(major).name), "-pthread")
	if err != nil {
		tb.Fatalf("%v", err)
	}
	return program, directory
}

// BuildRuntimeLayout compiles testdata/cudart_layout.c, with NVIDIA's headers if a
// directory of them is given.
func BuildRuntimeLayout(major int, headers string) (string, error) {
	return compileRuntimeProgram("cudart_layout.c", major, realHeaders(headers)...)
}

func compileRuntimeProgram(name string, major int, more ...string) (string, error) {
	header, err := filepath.Abs("cudart")
	if err != nil {
		return "", err
	}
	source, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	flags := []string{
		"-I", header, fmt.Sprintf("-DRUNTIME_VERSION=%d", runtimeVersions[major]),
		fmt.Sprintf("-DSOURCE_%x", sha256.Sum256(text)), source,
	}
	return compile(product{name: strings.TrimSuffix(name, ".c"), flags: append(flags, more...)})
}

func realHeaders(directory string) []string {
	if directory == "" {
		return nil
	}
	rest, err := filepath.Abs("testdata/cudart")
	if err != nil {
		panic(err) // there is no working directory
	}
	return []string{"-DREAL_CUDA_HEADER", "-DREAL_CUDA_RUNTIME_HEADER", "-isystem", rest, "-isystem", directory}
}

// CompileRuntimeAgainst compiles the runtime with NVIDIA's cuda.h and cuda_runtime_api.h from a
// directory, instead of its own prototypes.
func CompileRuntimeAgainst(directory string, major int) error {
	library := runtimeLibrary(major)
	library.flags = append(library.flags, realHeaders(directory)...)
	_, err := compile(library)
	return err
}

// CompileAgainst compiles libcuda.so.1 with NVIDIA's cuda.h from a directory, instead of its own
// prototypes.
func CompileAgainst(directory string) error {
	real := product{
		name:    "libcuda-of-real-header.so",
		flags:   []string{"-shared", "-fPIC", "-pthread", "-Wmissing-prototypes", "-DREAL_CUDA_HEADER", "-isystem", directory},
		sources: []string{"state", "cuda"},
	}
	_, err := compile(real)
	return err
}
