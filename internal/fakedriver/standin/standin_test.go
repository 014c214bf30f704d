package standin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"vramscope/internal/needs"
)

// Sources of fakes of three NVIDIA libraries (the first two are linked with symbol versions), of a
// wheel's library that needs them, and of a program that loads the wheel's.
const (
	cublas = `int cublasCreate_v2(void **handle) { return 7; }`
	cudnn  = `unsigned long cudnnGetVersion(void) { return 7; }`
	nccl   = `int ncclGetVersion(int *version) { return 7; } int ncclGroupStart(void) { return 7; }`
	wheel  = `
#include <stdio.h>
int cublasCreate_v2(void **), ncclGetVersion(int *), ncclGroupStart(void);
unsigned long cudnnGetVersion(void);
void print(void)
{
	void *handle = NULL;
	int created = cublasCreate_v2(&handle), version = 0, got = ncclGetVersion(&version);
	printf("%d %d %d %lu %d\n", created, got, version, cudnnGetVersion(), ncclGroupStart());
}`
	program = `
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*print)(void) = library ? (void (*)(void))dlsym(library, "print") : NULL;
	if (!print)
		return puts(dlerror());
	print();
	return 0;
}`
)

func TestStandInsTakeThePlaceOfWhatALibraryNeeds(t *testing.T) {
	t.Parallel()
	needs.Tool(t, "cc")
	site, real := t.TempDir(), t.TempDir()
	package1 := filepath.Join(site, "torch", "lib")
	if err := os.MkdirAll(package1, 0o755); err != nil {
		t.Fatal(err)
	}
	compile(t, cublas, filepath.Join(real, "libcublas.so.12"), "-shared", "-fPIC", "-Wl,-soname,libcublas.so.12", "-Wl,--default-symver")
	compile(t, cudnn, filepath.Join(real, "libcudnn.so.9"), "-shared", "-fPIC", "-Wl,-soname,libcudnn.so.9", "-Wl,--default-symver")
	compile(t, nccl, filepath.Join(real, "libnccl.so.2"), "-shared", "-fPIC", "-Wl,-soname,libnccl.so.2")
	library := filepath.Join(package1, "libtorch_cuda.so")
	compile(t, wheel, library, "-shared", "-fPIC", filepath.Join(real, "libcublas.so.12"), filepath.Join(real, "libcudnn.so.9"),
		filepath.Join(real, "libnccl.so.2"))
	runner := filepath.Join(real, "program")
	compile(t, program, runner, "-ldl")

	cache := t.TempDir()
	directory, err := Make("cc", cache, site)
	if err != nil {
		t.Fatal(err)
	}
	for directory, want := range map[string]string{real: "7 7 0 7 7\n", directory: "0 0 29999 99900 0\n"} {
		cmd := exec.Command(runner, library)
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+directory)
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("with %s: %v: %s, want %s", directory, err, out, want)
		}
	}
	again, err := Make("cc", cache, site)
	if err != nil || again != directory {
		t.Errorf("made again: %s, %v", again, err)
	}
	if _, err := Make("false", cache, site); err == nil {
		t.Error("no error with a compiler that fails")
	}
}

// cudnnEngines asks cuDNN for its engines, and for the memory that each needs, as a convolution does.
const cudnnEngines = `
#include <stdint.h>
#include <stdio.h>
int cudnnCreate(void **), cudnnBackendCreateDescriptor(int, void **);
int cudnnBackendGetAttribute(void *, int, int, int64_t, int64_t *, void *);
void print(void)
{
	void *handle = NULL, *descriptor = NULL;
	int64_t engines = -1, sizes = -1, size = -1, notes = -1;
	int got = cudnnCreate(&handle) + cudnnBackendCreateDescriptor(0, &descriptor);
	got += cudnnBackendGetAttribute(descriptor, 200, 15, 0, &engines, NULL) + cudnnBackendGetAttribute(descriptor, 300, 3, 1, &sizes, &size);
	got += cudnnBackendGetAttribute(descriptor, 400, 11, 50, &notes, NULL);
	printf("%d %d %d %d %d %d %d\n", got, handle != NULL, descriptor != NULL, (int)engines, (int)sizes, (int)size, (int)notes);
}`

func TestConvolutionsHaveAnEngine(t *testing.T) {
	t.Parallel()
	needs.Tool(t, "cc")
	site, folder := t.TempDir(), t.TempDir()
	const real = "int cudnnCreate, cudnnBackendCreateDescriptor, cudnnBackendGetAttribute;"
	compile(t, real, filepath.Join(folder, "libcudnn.so.9"), "-shared", "-fPIC", "-Wl,-soname,libcudnn.so.9")
	library, runner := filepath.Join(site, "plugin.so"), filepath.Join(folder, "program")
	compile(t, cudnnEngines, library, "-shared", "-fPIC", filepath.Join(folder, "libcudnn.so.9"))
	compile(t, program, runner, "-ldl")
	directory, err := Make("cc", t.TempDir(), site)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(runner, library)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+directory)
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "0 1 1 1 1 0 0\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// XLA's libraries are not linked to NVIDIA's: they open NVIDIA's libraries and look names up.
const (
	opening = `
#include <dlfcn.h>
#include <stdio.h>
static const char *const names[] = { "cudnnGetProperty", "cudnnDestroy", "cublasLtGetVersion", "cusolverDnCreate", "ncclGetVersion" };
static const char *const texts[] = { "cudnn is old", "cudnnCreate failed", "ncclunique" };
static int call(const char *library, int name, int a, int *b)
{
	void *handle = dlopen(library, RTLD_NOW);
	int (*function)(int, int *) = handle ? (int (*)(int, int *))dlsym(handle, names[name]) : NULL;
	return function ? function(a, b) : -1;
}
void print(void)
{
	int major = 0, minor = 0;
	int got = call("libcudnn.so.9", 0, 0, &major) + call("libcudnn.so.9", 0, 1, &minor);
	printf("%d %d.%d %d %d %d %d %d\n", got, major, minor, call("libcudnn.so.9", 1, 0, NULL), call("libcublasLt.so.12", 2, 0, NULL),
	       call("libcublas.so.12", 2, 0, NULL), call("libcusolver.so.11", 3, 0, NULL), texts[major % 3][0]);
}`
)

func TestStandInsHaveWhatALibraryLooksUp(t *testing.T) {
	t.Parallel()
	needs.Tool(t, "cc")
	site, folder, cache := t.TempDir(), t.TempDir(), t.TempDir()
	library, runner := filepath.Join(site, "plugin.so"), filepath.Join(folder, "program")
	compile(t, opening, library, "-shared", "-fPIC", "-ldl")
	compile(t, program, runner, "-ldl")
	directory, err := Make("cc", cache, site)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(runner, library)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+directory)
	out, err := cmd.CombinedOutput()
	if want := fmt.Sprintf("0 9.99 0 129900 -1 0 %d\n", 'c'); err != nil || string(out) != want {
		t.Errorf("%v: %s, want %s", err, out, want)
	}
	var names []string
	found, err := filepath.Glob(filepath.Join(directory, "*.so.*[0-9]"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		names = append(names, filepath.Base(path))
	}
	want := "libcublasLt.so.12 libcublasLt.so.13 libcudnn.so.9 libcusolver.so.11 libcusolver.so.12 libnccl.so.2"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("made %s, want %s", got, want)
	}
}

// XLA asks the assembler for its version, for the newest PTX that it knows, and for a kernel.
func TestAssembler(t *testing.T) {
	t.Parallel()
	needs.Tool(t, "cc")
	directory, err := Make("cc", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ptxas, input := filepath.Join(directory, "ptxas"), filepath.Join(t.TempDir(), "in put.ptx")
	out, err := exec.Command(ptxas, "--version").Output()
	if err != nil || !regexp.MustCompile(`V\d+\.\d+\.\d+`).Match(out) {
		t.Errorf("its version: %v, %s", err, out)
	}
	for _, test := range []struct{ version, says string }{{"8.5", ""}, {"99.99", "Unsupported .version 99.99; current version is '8.8'"}} {
		if err := os.WriteFile(input, []byte(".version "+test.version+"\n.target sm_90\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(ptxas, input, "-o", input+".cubin", "-arch=sm_90", "--warn-on-spills").CombinedOutput()
		_, made := os.Stat(input + ".cubin")
		if works := test.says == ""; (err == nil) != works || (made == nil) != works || !strings.Contains(string(out), test.says) {
			t.Errorf("PTX %s: %v, %s; the kernel: %v", test.version, err, out, made)
		}
		_ = os.Remove(input + ".cubin") // only the first test makes it
	}
}

// A folder without such libraries needs no stand-in.
func TestNothingNeeded(t *testing.T) {
	t.Parallel()
	site := t.TempDir()
	folder := filepath.Join(site, "nvidia", "nccl", "lib")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(site, "text.so"), []byte("INPUT(libm.so)"), 0o600); err != nil {
		t.Fatal(err)
	}
	directory, err := Make("false", t.TempDir(), site)
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := filepath.Glob(filepath.Join(directory, "*.so*")); err != nil || len(entries) > 0 {
		t.Errorf("%s has %v, %v", directory, entries, err)
	}
	if _, err := Make("false", t.TempDir(), filepath.Join(site, "none")); err == nil {
		t.Error("no error without the folder")
	}
}

func compile(t *testing.T, source, output string, flags ...string) {
	t.Helper()
	file := output + ".c"
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", append([]string{"-w", "-o", output, file}, flags...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
