package fakedriver_test

import (
	"fmt"
	"testing"

	"vramscope/internal/fakedriver"
)

func TestVirtualMemoryManagement(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 0)
	view, program := startBoth(t, box)
	holds := holding(view, box.GPUs[0], program, contextBytes)
	program.device(0).script(
		"create 0 1000", invalidValue, // not a multiple of the granularity
		"create 0 4194304", success,
		"create 1 4194304 7", invalidDevice,
	)
	holds(4 * mib)
	program.script(
		"reserve 0 8388608", success,
		"map 0 4194304 1", invalidValue, // there is no handle 1
		"map 0 4194304 0", success,
		"map 0 4194304 0", invalidValue, // these addresses are mapped
		"memset 0 4194304", invalidValue, // no access yet
		"access 0 4194304 0", success,
		"memset 0 4194304", success,
		"memset 0 4194305", invalidValue, // the second half has addresses but no memory
		"free 0", invalidValue,
		"unreserve 0", invalidValue, // while it is mapped
	)
	holds(4 * mib)
	program.script("let 0", success, "let 0", invalidValue) // the mapping keeps the memory
	holds(4 * mib)
	program.want("unmap 0 4194304", success)
	holds(0)
	program.script("unreserve 0", success, "unreserve 0", invalidValue)

	program.script("create 0 2097152", success, "share 0 1", success)
	holds(2 * mib) // an import is not charged
	program.script("let 1", success, "let 0", success)
	holds(0)
}

func TestPointersAreChecked(t *testing.T) {
	t.Parallel()
	_, program := startBoth(t, fakedriver.Box(1, 0))
	program.want("alloc 0 1000", notInitialized)
	program.script("init", success, "alloc 0 1000", invalidContext, "info", "201 0 0", "use 9", invalidDevice, "use 0", success)
	program.script(
		"alloc 0 0", invalidValue,
		"free 0", success, // NULL
		"alloc 0 1000", success,
		"memset 0 1000", success,
		"memset 0 1001", invalidValue,
		"freeasync 0 0", success, // also frees what cuMemAlloc returned
		"freeasync 0 0", invalidValue,
		"memset 0 1", invalidValue,
		"alloc 0 1000", success,
		"reset 0", success,
		"free 0", "709", // the context is gone, and its memory with it
		"use 0", success,
		"free 0", invalidValue,
	)
}

func TestContexts(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 0)
	view, program := startBoth(t, box)
	holds := holding(view, box.GPUs[0], program, 0)
	program.device(0).script("use 0", success)
	holds(contextBytes) // retained twice, but it is one context
	program.want("newcontext 0", success)
	holds(2 * contextBytes)
	program.script("alloc 0 2097152", success, "destroycontext", success)
	holds(contextBytes) // the context's allocations are freed, too
	program.want("release 0", success)
	holds(contextBytes)
	program.script("async 1 1000", success, "release 0", success)
	holds(0)
	program.want("release 0", invalidContext)

	// The state says what a context costs.
	box.GPUs[0].Context = 320 * mib
	view.write(box)
	program.want("use 0", success)
	holds(320 * mib)
}

func TestVisibleDevices(t *testing.T) {
	t.Parallel()
	box := fakedriver.MIG()
	cut, whole := box.GPUs[0], box.GPUs[1]
	short := func(uuid string) string { return uuid[4:12] }
	view := startView(t, box)
	describe := func(gpu fakedriver.GPU) string {
		return fmt.Sprintf("0 %s %s %d 0000:%02x:00.0 %%d %s", short(gpu.UUID), short(gpu.UUID), gpu.Total-gpu.Reserved, gpu.PCIBus, gpu.Name)
	}
	instance := func(i int, found int) string {
		instance := cut.Instances[i]
		return fmt.Sprintf("0 %s %s %d 0000:%02x:00.0 %d %s MIG %s", short(cut.UUID), short(instance.UUID), instance.Total-instance.Reserved,
			cut.PCIBus, found, cut.Name, instance.Profile)
	}
	for visible, want := range map[string][]string{
		"0,1":                           {instance(0, 0), fmt.Sprintf(describe(whole), 1)},
		"1":                             {fmt.Sprintf(describe(whole), 0)},
		"1,0":                           {fmt.Sprintf(describe(whole), 0), instance(0, 1)},
		"1,7,0":                         {fmt.Sprintf(describe(whole), 0)}, // up to the first index that does not exist
		whole.UUID:                      {fmt.Sprintf(describe(whole), 0)},
		whole.UUID[:9]:                  {fmt.Sprintf(describe(whole), 0)},
		cut.Instances[1].UUID:           {instance(1, 0)},
		"":                              nil,
		"-1":                            nil,
		"1,1":                           nil,
		"NoDevFiles":                    nil,
		"1," + whole.UUID:               nil,
		" 1 , " + cut.Instances[2].UUID: {fmt.Sprintf(describe(whole), 0), instance(2, 1)},
	} {
		program := startCUDA(t, view.state, "CUDA_VISIBLE_DEVICES="+visible)
		if len(want) == 0 {
			program.script("init", noDevice, "count", "3 -1")
			continue
		}
		program.script("init", success, "count", fmt.Sprintf("0 %d", len(want)))
		for i, line := range want {
			program.want(fmt.Sprintf("describe %d", i), line)
		}
		program.want(fmt.Sprintf("use %d", len(want)), invalidDevice)
	}
}

// A process on a MIG instance is in the list of the instance and in that of its GPU.
func TestAllocationsOnAnInstance(t *testing.T) {
	t.Parallel()
	box := fakedriver.MIG()
	view := startView(t, box)
	before := onDriver(view, 0)
	free := box.GPUs[0].Instances[1].Free
	program := startCUDA(t, view.state, "CUDA_VISIBLE_DEVICES="+box.GPUs[0].Instances[1].UUID).device(0)
	program.want("info", fmt.Sprintf("0 %d %d", free-contextBytes, box.GPUs[0].Instances[1].Total-box.GPUs[0].Instances[1].Reserved))
	program.want("alloc 0 1073741824", success)
	program.want(fmt.Sprintf("alloc 1 %d", free), outOfMemory)
	before[program.pid()] = contextBytes + gib
	if got := onDriver(view, 0); got[program.pid()] != contextBytes+gib || len(got) != len(before) {
		t.Errorf("the driver lists %v, want %v", got, before)
	}
	gpu := box.GPUs[0]
	held := uint64(contextBytes + gib)
	view.want("memory2 0 0", fmt.Sprintf("0 %d %d %d %d", gpu.Total, gpu.Reserved, gpu.Used+held, gpu.Free-held))
}

func TestHandleTypesOfVirtualMemory(t *testing.T) {
	t.Parallel()
	_, program := startBoth(t, fakedriver.Box(1, 0))
	program.device(0).script("createfabric 0 2097152 0", notSupported, "create 0 2097152 0", success)
}

// A value can be written only into the GPU's memory, at a multiple of its size.
func TestWritingAValue(t *testing.T) {
	t.Parallel()
	_, program := startBoth(t, fakedriver.Box(1, 0))
	program.device(0).script(
		"alloc 0 4096", success,
		"write 0 0 0", success,
		"write 0 4092 0", success,
		"write 0 4094 0", invalidValue,
		"write 0 4096 0", invalidValue,
	)
}

func TestRegisteredHostMemory(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 0)
	view, program := startBoth(t, box)
	program.device(0).script(
		"register 0 4096", success,
		"register 1024 16", alreadyRegistered,
		"register 8192 4096", success,
		"register 4096 4097", alreadyRegistered,
		"register 4096 0", invalidValue,
		"unregister 4096", notRegistered,
		"unregister 0", success,
		"unregister 0", notRegistered,
	)
	wantHeld(view, box.GPUs[0], 0, map[int]uint64{program.pid(): contextBytes}) // host memory is not the GPU's
}

func TestPeerAccess(t *testing.T) {
	t.Parallel()
	_, program := startBoth(t, fakedriver.Box(2, 0))
	program.device(1).device(0).script(
		"peer 1 0", peerNotEnabled,
		"peer 1 1", success,
		"peer 1 1", peerAlreadyEnabled,
		"peer 1 0", success,
		"peer 0 1", invalidContext, // itself
	)
}
