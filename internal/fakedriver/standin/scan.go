package standin

import (
	"debug/elf"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
)

// library is a stand-in to be made: the functions that are asked of it, with the
// symbol version in which they are, "" for none.
type library struct {
	name    string
	symbols map[string]string
}

// families are NVIDIA's libraries, with how the functions of those begin that
// have no symbol versions.
var families = map[string]string{
	"cublas": "cublas", "cublasLt": "cublasLt", "cudnn": "cudnn", "cufft": "cufft", "cufile": "cuFile", "cupti": "cupti",
	"curand": "curand", "cusolver": "cusolver", "cusparse": "cusparse", "cusparseLt": "cusparseLt", "nccl": "nccl",
	"nvJitLink": "nvJitLink", "nvrtc": "nvrtc", "nvshmem_host": "nvshmem", "nvToolsExt": "nvtx",
}

var (
	libraryFile = regexp.MustCompile(`\.so(\.\d+)*$`)
	soname      = regexp.MustCompile(`^lib(\w+)\.so(?:\.\d+)*$`)
)

// scan adds what the shared libraries below a folder need.
func scan(folder string, wanted map[string]*library) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("standin: %w", err)
		}
		// The folder nvidia is of NVIDIA's own wheels, whose libraries are not loaded.
		if entry.IsDir() && entry.Name() == "nvidia" {
			return filepath.SkipDir
		}
		if !entry.Type().IsRegular() || !libraryFile.MatchString(entry.Name()) {
			return nil
		}
		return read(path, wanted)
	})
}

func read(path string, wanted map[string]*library) error {
	file, err := elf.Open(path)
	if err != nil {
		return nil // not a library, whatever its name
	}
	defer file.Close() // only read
	needed, err := file.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("standin: %s: %w", path, err)
	}
	byPrefix := map[string]*library{}
	for _, name := range needed {
		match := soname.FindStringSubmatch(name)
		if match == nil || families[match[1]] == "" {
			continue
		}
		if wanted[name] == nil {
			wanted[name] = &library{name: name, symbols: map[string]string{}}
		}
		byPrefix[families[match[1]]] = wanted[name]
	}
	if len(byPrefix) == 0 {
		return nil
	}
	symbols, err := file.ImportedSymbols()
	if err != nil {
		return fmt.Errorf("standin: %s: %w", path, err)
	}
	for _, symbol := range symbols {
		if into := wanted[symbol.Library]; into != nil {
			into.symbols[symbol.Name] = symbol.Version
		} else if into := owner(symbol, byPrefix); into != nil {
			if _, known := into.symbols[symbol.Name]; !known {
				into.symbols[symbol.Name] = ""
			}
		}
	}
	return nil
}

// owner is the library of a symbol without a version: the one with the longest
// prefix that its name begins with.
func owner(symbol elf.ImportedSymbol, byPrefix map[string]*library) *library {
	var found *library
	longest := 0
	for prefix, candidate := range byPrefix {
		if symbol.Library == "" && len(prefix) > longest && strings.HasPrefix(symbol.Name, prefix) {
			found, longest = candidate, len(prefix)
		}
	}
	return found
}
