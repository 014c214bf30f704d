package standin

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
)

// library is a stand-in to be made: the functions that programs need from it, with their symbol
// versions, "" for none.
type library struct {
	name    string
	symbols map[string]string
}

// libraries are stand-ins by name.
type libraries map[string]*library

func (l libraries) library(name string) *library {
	if l[name] == nil {
		l[name] = &library{name: name, symbols: map[string]string{}}
	}
	return l[name]
}

// add adds a function without a known symbol version, unless it is there already.
func (l libraries) add(name, function string) {
	into := l.library(name)
	if _, known := into.symbols[function]; !known {
		into.symbols[function] = ""
	}
}

// family is one of NVIDIA's libraries.
type family struct {
	prefix string   // of its functions' names
	opened []string // the names under which programs open it themselves, with CUDA 12 and 13
}

var families = map[string]family{
	"cublas":       {"cublas", []string{"libcublas.so.12", "libcublas.so.13"}},
	"cublasLt":     {"cublasLt", []string{"libcublasLt.so.12", "libcublasLt.so.13"}},
	"cudnn":        {"cudnn", []string{"libcudnn.so.9"}},
	"cufft":        {"cufft", []string{"libcufft.so.11", "libcufft.so.12"}},
	"cufile":       {"cuFile", nil},
	"cupti":        {"cupti", []string{"libcupti.so.12", "libcupti.so.13"}},
	"curand":       {"curand", nil},
	"cusolver":     {"cusolver", []string{"libcusolver.so.11", "libcusolver.so.12"}},
	"cusparse":     {"cusparse", []string{"libcusparse.so.12"}},
	"cusparseLt":   {"cusparseLt", nil},
	"nccl":         {"nccl", []string{"libnccl.so.2"}},
	"nvJitLink":    {"nvJitLink", []string{"libnvJitLink.so.12", "libnvJitLink.so.13"}},
	"nvrtc":        {"nvrtc", []string{"libnvrtc.so.12", "libnvrtc.so.13"}},
	"nvshmem_host": {"nvshmem", []string{"libnvshmem_host.so.3"}},
	"nvToolsExt":   {"nvtx", nil},
}

var (
	libraryFile = regexp.MustCompile(`\.so(\.\d+)*$`)
	soname      = regexp.MustCompile(`^lib(\w+)\.so(?:\.\d+)*$`)
)

// scan adds what the shared libraries below a folder need.
func scan(folder string, wanted libraries) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("standin: %w", err)
		}
		// The folder nvidia has NVIDIA's own wheels, whose libraries are not loaded.
		if entry.IsDir() && entry.Name() == "nvidia" {
			return filepath.SkipDir
		}
		if !entry.Type().IsRegular() || !libraryFile.MatchString(entry.Name()) {
			return nil
		}
		return read(path, wanted)
	})
}

func read(path string, wanted libraries) error {
	file, err := elf.Open(path)
	if err != nil {
		return nil // not a library, whatever its name
	}
	defer file.Close() // only read
	needed, err := file.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("standin: %s: %w", path, err)
	}
	symbols, err := file.ImportedSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return fmt.Errorf("standin: %s: %w", path, err)
	}
	linked := map[string]string{} // library by prefix
	for _, name := range needed {
		match := soname.FindStringSubmatch(name)
		if match == nil || families[match[1]].prefix == "" {
			continue
		}
		linked[families[match[1]].prefix] = name
		wanted.library(name)
	}
	for _, symbol := range symbols {
		if into := wanted[symbol.Library]; into != nil {
			into.symbols[symbol.Name] = symbol.Version
		} else if prefix := longest(symbol.Name, maps.Keys(linked)); prefix != "" && symbol.Library == "" {
			wanted.add(linked[prefix], symbol.Name)
		}
	}
	if err := readNames(file, symbols, wanted); err != nil {
		return fmt.Errorf("standin: %s: %w", path, err)
	}
	return nil
}

// longest returns the longest of prefixes that a name begins with, "" for none.
func longest(name string, prefixes iter.Seq[string]) string {
	found := ""
	for prefix := range prefixes {
		if len(prefix) > len(found) && strings.HasPrefix(name, prefix) {
			found = prefix
		}
	}
	return found
}
