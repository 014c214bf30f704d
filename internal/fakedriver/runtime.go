package fakedriver

import (
	"fmt"
	"path/filepath"

	"vramscope/internal/fakedriver/standin"
)

// runtimeVersions are the versions of the runtime libraries, by major version. Each works with
// every driver of its major version or later.
var runtimeVersions = map[int]int{12: 12090, 13: 13020}

// CompileRuntime compiles the CUDA runtime over the fake driver, libcudart.so.12
// and libcudart.so.13, and returns their directory, for Environment.
func CompileRuntime() (string, error) {
	library, err := compile(runtimeLibrary(12), runtimeLibrary(13))
	return filepath.Dir(library), err
}

// CompileStandIns compiles empty stand-ins for the NVIDIA libraries that libraries below
// folders need, and returns their directory, for Environment.
func CompileStandIns(folders ...string) (string, error) {
	compiler, err := findCompiler()
	if err != nil {
		return "", err
	}
	cache, err := cacheDirectory()
	if err != nil {
		return "", err
	}
	return standin.Make(compiler, cache, folders...)
}

// CompileDevices compiles a program that runs a command with a /dev/nvidiactl, if the kernel
// permits that. The program's arguments are the command's path and the command.
func CompileDevices() (string, error) {
	return compile(product{name: "with-devices", flags: []string{"-Wall"}, sources: []string{"devices"}})
}

// RuntimeDriver returns a driver that is new enough for each runtime of CompileRuntime.
func RuntimeDriver() Driver {
	return Driver{Version: "580.95.05", NVMLVersion: "13.580.95.05", CUDAVersion: 13000, Generation: 1}
}

func runtimeLibrary(major int) product {
	name := fmt.Sprintf("libcudart.so.%d", major)
	return product{
		name: name,
		flags: []string{
			"-shared", "-fPIC", "-fvisibility=hidden", "-pthread", "-Wmissing-prototypes",
			fmt.Sprintf("-DRUNTIME_VERSION=%d", runtimeVersions[major]),
			// As in NVIDIA's library, every symbol's version has the name of the library.
			"-Wl,-soname," + name, "-Wl,--default-symver", "-Wl,--no-undefined", "-Wl,-Bsymbolic",
		},
		sources:   []string{"cudart"},
		libraries: []string{"-ldl"},
	}
}
