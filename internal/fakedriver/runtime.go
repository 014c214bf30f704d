package fakedriver

import (
	"fmt"
	"path/filepath"
)

// runtimeVersions are those of the runtime libraries, by major version. Each
// works with every driver from its major version on.
var runtimeVersions = map[int]int{12: 12090, 13: 13020}

// CompileRuntime compiles the CUDA runtime over the fake driver, libcudart.so.12
// and libcudart.so.13, and returns their directory, for Environment.
func CompileRuntime() (string, error) {
	library, err := compile(runtimeLibrary(12), runtimeLibrary(13))
	return filepath.Dir(library), err
}

func runtimeLibrary(major int) product {
	name := fmt.Sprintf("libcudart.so.%d", major)
	return product{
		name: name,
		flags: []string{
			"-shared", "-fPIC", "-fvisibility=hidden", "-pthread", "-Wmissing-prototypes",
			fmt.Sprintf("-DRUNTIME_VERSION=%d", runtimeVersions[major]),
			// Every symbol is in a version that is named as the library is, as NVIDIA's are.
			"-Wl,-soname," + name, "-Wl,--default-symver", "-Wl,--no-undefined", "-Wl,-Bsymbolic",
		},
		sources:   []string{"cudart"},
		libraries: []string{"-ldl"},
	}
}
