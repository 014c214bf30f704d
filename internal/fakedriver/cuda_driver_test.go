package fakedriver_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
)

func TestEntryPointsByVersion(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 0)
	_, program := startBoth(t, box)
	const found, unknown, tooOld = "0 0 0 ", "500 0 1 -", "500 0 2 -"
	program.want("version", fmt.Sprintf("0 %d", box.Driver.CUDAVersion))
	for _, test := range [][2]string{
		{"cuMemAlloc 12000 0", found + "cuMemAlloc_v2"},
		{"cuMemAlloc 3020 0", found + "cuMemAlloc_v2"},
		{"cuMemAlloc 3010 0", tooOld}, // the first version has 32-bit addresses
		{"cuMemAlloc_v2 12000 0", unknown},
		{"cuNoSuchCall 12000 0", unknown},
		{"cuGetProcAddress 11030 0", found + "cuGetProcAddress"},
		{"cuGetProcAddress 12000 0", found + "cuGetProcAddress_v2"},
		{"cuDeviceGetUuid 11030 0", found + "cuDeviceGetUuid"},
		{"cuDeviceGetUuid 11040 0", found + "cuDeviceGetUuid_v2"},
		{"cuCtxCreate 11030 0", found + "cuCtxCreate_v2"},
		{"cuCtxCreate 12050 0", found + "cuCtxCreate_v3"}, // the fourth version is later than this driver
		{"cuMemAllocAsync 11020 0", found + "cuMemAllocAsync"},
		{"cuMemAllocAsync 11020 1", found + "cuMemAllocAsync"},
		{"cuMemAllocAsync 11020 2", found + "cuMemAllocAsync_ptsz"},
		{"cuMemAllocAsync 11010 2", tooOld},
		{"cuMemcpyHtoD 12000 2", found + "cuMemcpyHtoD_v2_ptds"},
		{"cuStreamSynchronize 6000 2", found + "cuStreamSynchronize"}, // the per-thread call came with CUDA 7.0
		{"cuMemPoolTrimTo 12000 2", found + "cuMemPoolTrimTo"},        // has no per-thread twin
		{"cuMemAlloc 12000 3", "1 1 9 -"},
		{"cuMemAlloc 0 0", "1 1 9 -"},
		{"cuStreamGetCaptureInfo 11020 0", found + "cuStreamGetCaptureInfo"},
		{"cuStreamGetCaptureInfo 12000 0", found + "cuStreamGetCaptureInfo_v2"},
		{"cuStreamGetCaptureInfo 12030 0", unknown}, // _v2 must not be returned for a later version
	} {
		program.want("proc "+test[0], test[1])
	}
}

// A CUDA program also finds calls in the symbol table, by the names that cuda.h gives them.
func TestSymbols(t *testing.T) {
	symbols := exported(t, fakedriver.CUDA(fakedriver.Build(t, fakedriver.Current)))
	for _, name := range []string{
		"cuInit", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemAllocAsync", "cuMemAllocAsync_ptsz", "cuMemFreeAsync_ptsz",
		"cuMemAllocFromPoolAsync_ptsz", "cuMemcpyHtoD_v2_ptds", "cuStreamBeginCapture_v2_ptsz", "cuGetProcAddress",
		"cuGetProcAddress_v2", "cuMemPoolTrimTo", "cuDeviceGraphMemTrim", "cuIpcOpenMemHandle_v2",
	} {
		if !slices.Contains(symbols, name) {
			t.Errorf("%s is missing", name)
		}
	}
	for _, name := range symbols {
		if !strings.HasPrefix(name, "cu") && !strings.HasPrefix(name, "fake_") { // fake_… is for tests of the native probe
			t.Errorf("%s is exported", name)
		}
	}
}

func TestWithoutADriver(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 0)
	view := startClient(t, box)
	program := startCUDA(t, view.state)
	box.Driver.Init = fakedriver.DriverNotLoaded
	view.write(box)
	program.want("init", noDevice)
	box.Driver.Init = 18 // NVML_ERROR_LIB_RM_VERSION_MISMATCH
	view.write(box)
	program.want("init", driverMismatch)
	empty := box
	empty.Driver.Init, empty.GPUs = 0, nil
	view.write(empty)
	program.want("init", noDevice)
	box.Driver.Init = 0
	view.write(box)
	program.device(0).want("alloc 0 1000", success) // the driver is there now

	alone := startCUDA(t, filepath.Join(t.TempDir(), "none"))
	alone.script("init", noDevice, "version", "0 12040", "alloc 0 1000", notInitialized)
}

func TestALostGPU(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(2, 0)
	view := startView(t, box)
	first, second := startCUDA(t, view.state).device(0), startCUDA(t, view.state).device(1)
	first.want("alloc 0 2097152", success)
	box.GPUs[0].Lost = true
	view.write(box)
	first.want("info", deviceUnavailable+" 0 0")
	first.script("alloc 1 2097152", deviceUnavailable, "ctxsync", deviceUnavailable)
	second.want("alloc 0 2097152", success)
	startCUDA(t, view.state).script("init", success, "use 0", deviceUnavailable, "use 1", success)
	box.GPUs[0].Lost = false
	view.write(box)
	first.want("info", fmt.Sprintf("0 %d %d", box.GPUs[0].Free-contextBytes-2*mib, box.GPUs[0].Total-box.GPUs[0].Reserved))
}

// Faults of the state file apply to CUDA's calls, too.
func TestCallsThatFailAndHang(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(2, 0)
	view := startView(t, box)
	first, second := startCUDA(t, view.state).device(0), startCUDA(t, view.state).device(1)
	box.GPUs[0].Fail("cuMemGetInfo*", fakedriver.Return(999))
	box.GPUs[1].Hang("cuCtxSynchronize", time.Hour)
	view.write(box)
	first.want("info", "999 0 0")
	second.want("info", fmt.Sprintf("0 %d %d", box.GPUs[1].Free-contextBytes, box.GPUs[1].Total-box.GPUs[1].Reserved))
	second.send("ctxsync")
	first.want("alloc 0 1000", success) // other programs continue meanwhile
	box.GPUs[0].Faults, box.GPUs[1].Faults = nil, nil
	view.write(box)
	if got := second.answer(); got != success {
		t.Errorf("the call that hung answers %s", got)
	}
	if info := first.numbers("info"); info[0] != 0 {
		t.Errorf("the call that failed answers %v", info)
	}
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 0)
	_, program := startBoth(t, box)
	program.want("attribute 75 0", "3 -1")
	program.want("init", success)
	for attribute, want := range map[int]uint64{
		75: 9, 76: 0, // compute capability
		33: box.GPUs[0].PCIBus, 34: 0, 50: 0, // PCI
		115: 1, 102: 1, 103: 1, 41: 1, // memory pools, virtual memory, export as files, one address space
		16: 132, // multiprocessors
		32: 1,   // ECC
	} {
		program.want(fmt.Sprintf("attribute %d 0", attribute), fmt.Sprintf("0 %d", want))
	}
	program.script("attribute 0 0", "1 -1", "attribute 75 1", "101 -1")
}
