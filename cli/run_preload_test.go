//go:build linux && cgo

package cli

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vramscope/internal/fakedriver"
	"vramscope/internal/quantity"
	"vramscope/probe/preload"
)

// nativeJob is a program in C with 96 MiB in a pool, of which a third is live, 40 MiB outside of the
// pool, and an allocation that fails.
const nativeJob = `
#include "api.h"
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 1 } };
	CUdeviceptr blocks[3], plain, none;
	CUmemoryPool pool;
	CUcontext context;
	cuuint64_t all = UINT64_MAX;
	char byte;
	int failed = cuInit(0) | cuDevicePrimaryCtxRetain(&context, 1) | cuCtxSetCurrent(context);
	failed |= cuMemPoolCreate(&pool, &properties) | cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all);
	for (int i = 0; i < 3; i++)
		failed |= cuMemAllocFromPoolAsync(&blocks[i], 32 << 20, pool, NULL);
	failed |= cuMemFreeAsync(blocks[0], NULL) | cuMemFreeAsync(blocks[1], NULL) | cuCtxSynchronize();
	failed |= cuMemAlloc_v2(&plain, 40 << 20);
	failed |= cuMemAlloc_v2(&none, (size_t)1 << 45) != CUDA_ERROR_OUT_OF_MEMORY;
	if (failed)
		return 1;
	printf("ready\n");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 5;
}
`

// buildNative compiles a program against the fake driver.
func (b *probeBox) buildNative(source string) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "native-job")
	if err := os.WriteFile(path+".c", []byte(source), 0o600); err != nil {
		b.Fatal(err)
	}
	libraries := filepath.Dir(fakedriver.Build(b, fakedriver.Current))
	cmd := exec.Command("cc", "-I", "../internal/fakedriver/cuda", path+".c", "-o", path, "-L", libraries, "-lcuda")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return path
}

// toldAllocation is one of an allocator's largest allocations in the JSON.
type toldAllocation struct {
	Bytes        quantity.Bytes
	API, Library string
}

// reportedAllocator is an allocator in the JSON.
type reportedAllocator struct {
	Kind     string
	Reserved quantity.Bytes `json:"reserved_bytes"`
	Largest  []toldAllocation
}

// TestRunShowsAndFlushesANativeProgram goes through the whole loop, as in the README, with a shell
// in between.
func TestRunShowsAndFlushesANativeProgram(t *testing.T) {
	t.Parallel()
	if errors.Is(preload.Usable(t.TempDir()), preload.ErrNoLibrary) {
		t.Skip(preload.ErrNoLibrary)
	}
	b := newProbeBox(t, 2)
	program := b.buildNative(nativeJob)
	cmd := b.command("run", "--", "sh", "-c", `"$0"; exit $?`, program)
	cmd.Env = append(slices.Clone(b.environ), "XDG_CACHE_HOME="+t.TempDir(), "LD_PRELOAD=", "ASAN_OPTIONS=")
	job := begin(t, cmd)
	pid := childOf(t, cmd.Process.Pid)
	row := awaitRow(t, b, pid)
	const live, cached = (40 + 32) * quantity.MiB, 64 * quantity.MiB
	if row.Runtime != "CUDA" || row.Allocated != live || row.Returnable != cached || row.Used-row.Other != live+cached {
		t.Errorf("the row is %+v, want %d live, %d returnable, and a context", row, live, cached)
	}
	var probed struct {
		StartedBy   string `json:"started_by"`
		OutOfMemory int64  `json:"out_of_memory_count"`
	}
	if err := json.Unmarshal(row.Probe, &probed); err != nil || probed.StartedBy != "preload" || probed.OutOfMemory != 1 {
		t.Errorf("the probe is %s: %v", row.Probe, err)
	}
	raw := b.allocatorOf(pid, "raw")
	if raw.Reserved != 40*quantity.MiB || len(raw.Largest) != 1 || raw.Largest[0].API != "cuMemAlloc" || raw.Largest[0].Library != "native-job" {
		t.Errorf("outside of pools it says %+v", raw)
	}
	flushed := b.flush(pid)
	if after := awaitRow(t, b, pid); row.Used-after.Used != cached || after.Returnable != 0 || after.Allocated != live {
		t.Errorf("used fell by %d, by the probe %d were cached; now %+v\n%s", row.Used-after.Used, cached, after, flushed)
	}
	_ = job.end() // its code is checked next
	if code := cmd.ProcessState.ExitCode(); code != 5 || job.said.Len() > 0 {
		t.Errorf("the program ended with %d\n%s", code, job.said.String())
	}
}

// childOf returns a process's only child, or the process itself if its shell has become the child.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(pid) + "/children")
	if err != nil {
		t.Skipf("this kernel does not tell a process's children: %v", err)
	}
	children := strings.Fields(string(text))
	if len(children) == 0 {
		return pid
	}
	child, err := strconv.Atoi(children[0])
	if err != nil {
		t.Fatal(err)
	}
	return child
}

// allocatorOf returns one of a process's allocators from the JSON, once its probe has answered in
// time.
func (b *probeBox) allocatorOf(pid int, kind string) reportedAllocator {
	b.Helper()
	var found *reportedAllocator
	var out []byte
	if !eventually(func() bool {
		found, out = b.allocatorNow(pid, kind)
		return found != nil
	}) {
		b.Fatalf("process %d has no allocator %s: %s", pid, kind, out)
	}
	return *found
}

func (b *probeBox) allocatorNow(pid int, kind string) (*reportedAllocator, []byte) {
	b.Helper()
	out, err := b.command("once", "--format", "json").Output()
	if err != nil {
		b.Fatal(err)
	}
	var document struct {
		GPUs []struct {
			Processes []struct {
				PID        int
				Allocators []reportedAllocator
			}
		}
	}
	if err := json.Unmarshal(out, &document); err != nil {
		b.Fatal(err)
	}
	for _, gpu := range document.GPUs {
		for _, process := range gpu.Processes {
			for _, a := range process.Allocators {
				if process.PID == pid && a.Kind == kind {
					return &a, out
				}
			}
		}
	}
	return nil, out
}

// mixedJob is a training job on the stand-in for PyTorch, which also allocates 40 MiB by itself.
const mixedJob = `
import ctypes, sys, torch
torch.cuda.set_device(1)
live = [torch.empty(64 << 20, 1) for _ in range(9)]
del live[3:]
plain = ctypes.c_ulonglong()
if ctypes.CDLL("libcuda.so.1").cuMemAlloc_v2(ctypes.byref(plain), ctypes.c_size_t(40 << 20)):
    sys.exit(1)
print("ready", flush=True)
sys.stdin.read()
live.clear()
`

// TestRunWithBothProbesInOneProcess: a shell that starts Python has the native probe, and Python
// inherits it. Only one of the two probes serves, and nothing is reported twice.
func TestRunWithBothProbesInOneProcess(t *testing.T) {
	t.Parallel()
	python := pythonWith(t, "ctypes")
	if errors.Is(preload.Usable(t.TempDir()), preload.ErrNoLibrary) {
		t.Skip(preload.ErrNoLibrary)
	}
	b := newProbeBox(t, 2)
	fake, err := filepath.Abs("../probe/agent/testdata/fake")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "job.py")
	if err := os.WriteFile(script, []byte(mixedJob), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := b.command("run", "--", "sh", "-c", `exec "$0" "$1"`, python, script)
	cmd.Env = append(slices.Clone(b.environ), "XDG_CACHE_HOME="+t.TempDir(), "PYTHONPATH="+fake, "FAKE_TORCH_DRIVER=1",
		"PYTHONDONTWRITEBYTECODE=1", "LD_PRELOAD=", "ASAN_OPTIONS=")
	job := begin(t, cmd)
	// The native probe sees the first allocation before the Python probe looks for other probes.
	const live, cached, raw = 3 * 64 * quantity.MiB, 6 * 64 * quantity.MiB, 40 * quantity.MiB
	var row jobRow
	eventually(func() bool {
		row = awaitRow(t, b, cmd.Process.Pid)
		return row.Runtime == "PyTorch"
	})
	if row.Runtime != "PyTorch" || row.Allocated != live+raw || row.Returnable != cached || row.Other <= 0 {
		t.Errorf("the row is %+v, want PyTorch with %d live, %d returnable, and a context", row, live+raw, cached)
	}
	if a := b.allocatorOf(cmd.Process.Pid, "raw"); a.Reserved != raw {
		t.Errorf("outside of PyTorch it says %+v, want %d", a, raw)
	}
	if a := b.allocatorOf(cmd.Process.Pid, "pytorch"); a.Reserved != live+cached {
		t.Errorf("of PyTorch it says %+v, want %d", a, live+cached)
	}
	if err := job.end(); err != nil || job.said.Len() > 0 {
		t.Errorf("the job ended with %v\n%s", err, job.said.String())
	}
}
