package fakedriver_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vramscope/internal/fakedriver"
)

// A call that an old driver lacks must be absent from the symbol table, in which programs look calls up.
func TestVariantsLackTheSymbolsOfLaterDrivers(t *testing.T) {
	for variant, want := range map[fakedriver.Variant]struct{ present, absent []string }{
		fakedriver.Current: {
			present: []string{
				"nvmlInit_v2", "nvmlInit", "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetComputeRunningProcesses_v3",
				"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons",
			},
		},
		fakedriver.R470: {
			present: []string{"nvmlInit_v2", "nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetMigDeviceHandleByIndex"},
			absent: []string{
				"nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetComputeRunningProcesses_v3",
				"nvmlDeviceGetCurrentClocksEventReasons",
			},
		},
		fakedriver.V1Only: {
			present: []string{"nvmlInit", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetComputeRunningProcesses"},
			absent: []string{
				"nvmlInit_v2", "nvmlDeviceGetCount_v2", "nvmlDeviceGetMemoryInfo_v2", "nvmlEventSetWait_v2",
				"nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses_v3",
				"nvmlDeviceGetMigMode",
			},
		},
	} {
		t.Run(string(variant), func(t *testing.T) {
			symbols := exported(t, fakedriver.Build(t, variant))
			for _, name := range want.present {
				if !slices.Contains(symbols, name) {
					t.Errorf("%s is missing", name)
				}
			}
			for _, name := range want.absent {
				if slices.Contains(symbols, name) {
					t.Errorf("%s is there", name)
				}
			}
		})
	}
}

func exported(t *testing.T, library string) []string {
	t.Helper()
	file, err := elf.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all, err := file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, symbol := range all {
		if symbol.Section != elf.SHN_UNDEF {
			names = append(names, symbol.Name)
		}
	}
	return names
}

// Every function that the nvml package names must be in the library, because with go-nvml's lazy
// binding a call to a missing function ends the program.
func TestLibraryHasWhatTheNvmlPackageCalls(t *testing.T) {
	files, err := filepath.Glob("../../nvml/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources of the nvml package: %v", err)
	}
	name := regexp.MustCompile(`"(nvml(?:Device|System|Init|Shutdown|Event)\w*)"`)
	symbols := exported(t, fakedriver.Build(t, fakedriver.Current))
	named := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range name.FindAllSubmatch(text, -1) {
			named++
			if !slices.Contains(symbols, string(match[1])) {
				t.Errorf("%s calls %s, which is missing", filepath.Base(file), match[1])
			}
		}
	}
	if named < 30 {
		t.Errorf("only %d calls found in the nvml package: does it still name them in quotes?", named)
	}
}

func TestTheBinaryHasNoFakeDriver(t *testing.T) {
	out, err := exec.Command("go", "list", "-e", "-deps", "vramscope").Output()
	if err != nil {
		t.Skipf("go list: %v", err)
	}
	packages := strings.Fields(string(out))
	if !slices.Contains(packages, "vramscope") {
		t.Fatalf("vramscope is not among its own packages: %q", packages)
	}
	if slices.Contains(packages, "vramscope/internal/fakedriver") {
		t.Error("vramscope imports the fake driver")
	}
}

// importedFrom returns the symbols that a program imports from a library, if their version has the
// library's name.
func importedFrom(t *testing.T, program, library string) map[string]bool {
	t.Helper()
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.ImportedSymbols()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, symbol := range symbols {
		if symbol.Library == library && symbol.Version == library {
			found[symbol.Name] = true
		}
	}
	return found
}
