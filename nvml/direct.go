//go:build linux && cgo

package nvml

// #cgo LDFLAGS: -ldl
// #cgo noescape vramscope_list
// #cgo nocallback vramscope_list
// #cgo noescape vramscope_samples
// #cgo nocallback vramscope_samples
// #cgo noescape vramscope_memory
// #cgo nocallback vramscope_memory
// #define _GNU_SOURCE
// #include <dlfcn.h>
// #include <stdlib.h>
// #include <string.h>
//
// // The loader's message is per thread, so it is copied before Go may move
// // to another one.
// static void *vramscope_open(const char *name, char **message) {
// 	void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
// 	if (!library) {
// 		const char *text = dlerror();
// 		*message = strdup(text ? text : "cannot be loaded");
// 	}
// 	return library;
// }
//
// static const char *vramscope_path(void *function) {
// 	Dl_info info;
// 	return dladdr(function, &info) ? info.dli_fname : NULL;
// }
//
// typedef int (*list_call)(void *, unsigned int *, void *);
// typedef int (*samples_call)(void *, void *, unsigned int *, unsigned long long);
// typedef int (*memory_call)(void *, void *);
//
// static int vramscope_list(void *call, void *device, unsigned int *count, void *buffer) {
// 	return ((list_call)call)(device, count, buffer);
// }
//
// static int vramscope_samples(void *call, void *device, void *buffer, unsigned int *count, unsigned long long since) {
// 	return ((samples_call)call)(device, buffer, count, since);
// }
//
// // nvmlMemory_v2_t
// struct memory_v2 {
// 	unsigned int version;
// 	unsigned long long total, reserved, free, used;
// };
//
// static int vramscope_memory(void *call, void *device, struct memory_v2 *memory) {
// 	return ((memory_call)call)(device, memory);
// }
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"unsafe"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// direct is the loaded library, with the three calls that bypass go-nvml:
//
//   - process lists and samples: go-nvml starts with room for one entry, grows the room without
//     limit, and trusts counts and struct sizes that drivers get wrong;
//   - memory v2: go-nvml sends one form of the version field, and some drivers take only the other.
//
// The handle is never closed, because a call that hangs may return into the library at any time.
type direct struct {
	handle unsafe.Pointer
	path   string      // as the loader found it
	file   os.FileInfo // the file behind path when it was loaded
}

func openDirect(name string) (*direct, error) {
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	var message *C.char
	handle := C.vramscope_open(cname, &message)
	if handle == nil {
		defer C.free(unsafe.Pointer(message))
		err := newError("dlopen "+name, gonvml.ERROR_LIBRARY_NOT_FOUND)
		err.Detail = C.GoString(message)
		return nil, err
	}
	d := &direct{handle: handle}
	for _, entry := range []symbol{symInit, symInitV1} {
		function := d.lookup(symbols[entry].name)
		if function == nil {
			continue
		}
		if path := C.vramscope_path(function); path != nil {
			d.path = C.GoString(path)
			break
		}
	}
	if d.path != "" {
		d.file, _ = os.Stat(d.path) // if this fails, a replacement is not noticed
	}
	return d, nil
}

// lookup returns the address of an entry point, nil if the library lacks it.
func (d *direct) lookup(name string) unsafe.Pointer {
	cname := C.CString(name)
	defer C.free(unsafe.Pointer(cname))
	return C.dlsym(d.handle, cname)
}

// replaced reports whether the path no longer leads to the file that was loaded.
func (d *direct) replaced() bool {
	if d.file == nil {
		return false
	}
	now, err := os.Stat(d.path)
	if err != nil {
		return true
	}
	return !os.SameFile(d.file, now) || d.file.Size() != now.Size() || !d.file.ModTime().Equal(now.ModTime())
}

// release returns the driver release in the library's file name: "550.163.01" for
// libnvidia-ml.so.550.163.01. It returns "" if the name has none.
func (d *direct) release() string {
	target, err := filepath.EvalSymlinks(d.path)
	if err != nil {
		return ""
	}
	_, version, _ := strings.Cut(filepath.Base(target), ".so.")
	if !strings.Contains(version, ".") {
		return ""
	}
	return version
}

// list calls one of the process lists. The buffer has room for capacity entries of the largest size.
func (d *direct) list(call, device unsafe.Pointer, buffer []byte, capacity int) (count int, ret gonvml.Return) {
	n := C.uint(capacity)
	ret = gonvml.Return(C.vramscope_list(call, device, &n, unsafe.Pointer(unsafe.SliceData(buffer))))
	return int(n), ret
}

// samples calls nvmlDeviceGetProcessUtilization.
func (d *direct) samples(call, device unsafe.Pointer, buffer []byte, since uint64) (count int, ret gonvml.Return) {
	n := C.uint(len(buffer) / utilizationStride)
	ret = gonvml.Return(C.vramscope_samples(call, device, unsafe.Pointer(unsafe.SliceData(buffer)), &n, C.ulonglong(since)))
	return int(n), ret
}

// The version field of a version 2 struct: nvml.h's NVML_STRUCT_VERSION, and the bare number that
// early 510 drivers take.
const (
	memoryVersion     = C.uint(C.sizeof_struct_memory_v2 | 2<<24)
	memoryVersionBare = C.uint(2)
)

// memoryV2 calls nvmlDeviceGetMemoryInfo_v2.
func (d *direct) memoryV2(call, device unsafe.Pointer, bare bool) (memoryAnswer, gonvml.Return) {
	memory := C.struct_memory_v2{version: memoryVersion}
	if bare {
		memory.version = memoryVersionBare
	}
	ret := gonvml.Return(C.vramscope_memory(call, device, &memory))
	return memoryAnswer{
		total:    uint64(memory.total),
		reserved: uint64(memory.reserved),
		free:     uint64(memory.free),
		used:     uint64(memory.used),
	}, ret
}

// devicePointer returns the nvmlDevice_t inside go-nvml's Device, which is a
// struct of one exported field in an unexported type.
func devicePointer(device gonvml.Device) (unsafe.Pointer, error) {
	value := reflect.ValueOf(device)
	if value.Kind() != reflect.Struct || value.NumField() != 1 || value.Field(0).Kind() != reflect.Pointer {
		return nil, fmt.Errorf("device handle of type %T is not a struct of one pointer", device)
	}
	return value.Field(0).UnsafePointer(), nil
}
