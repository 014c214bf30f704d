package fakedriver_test

import (
	"debug/elf"
	"slices"
	"testing"

	"vramscope/internal/fakedriver"
)

// What an old driver lacks must be absent from the symbol table: a program
// finds out by looking there.
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
	defer file.Close() //nolint:errcheck // opened for reading
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
