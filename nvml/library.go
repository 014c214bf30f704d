//go:build linux && cgo

package nvml

import (
	"cmp"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/prometheus/procfs"

	"vramscope/internal/text"
)

// Library is the driver's library. Its methods may be called from any goroutine, and Read for
// several GPUs at once. go-nvml binds a process to one library, so after a driver upgrade only a
// new process can load the new library: see NeedsRestart.
type Library struct {
	options  Options
	gate     gate
	loaded   atomic.Pointer[loaded] // set once, by the first Open that finds the library
	api      gonvml.Interface       // used only inside the gate
	complete atomic.Bool            // see Complete
	details  atomic.Bool            // see Details
	alone    atomic.Bool            // see WithoutProcesses
	gpus     map[string]*gpu        // by UUID; used only inside the gate, written between begin and end
	known    map[int]Device         // by index: the facts of the last Open that succeeded, for GPUs lost since
}

// loaded is the library with its entry points.
type loaded struct {
	*direct
	symbols     symbolSet
	lists       []processList
	memoryCall  unsafe.Pointer // nvmlDeviceGetMemoryInfo_v2, nil if there is only v1
	samplesCall unsafe.Pointer // nvmlDeviceGetProcessUtilization, nil if there is none
}

// processList is one of the calls that list processes, in the newest version that the library has.
type processList struct {
	symbol   symbol
	call     unsafe.Pointer
	promised int // size in bytes that this version of the call promises for its structs
	kind     ProcessType
}

// New makes a Library that is not open yet.
func New(options Options) *Library {
	options.LibraryPath = cmp.Or(options.LibraryPath, "libnvidia-ml.so.1")
	options.Proc = cmp.Or(options.Proc, procfs.DefaultMountPoint)
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Library{
		options: options,
		api:     gonvml.New(gonvml.WithLibraryPath(options.LibraryPath)),
		known:   make(map[int]Device),
	}
}

// Open loads the library if it is not loaded yet, initialises it, and lists the GPUs that this user
// may see. A box without GPUs is not an error. If the library is open, Open initialises it again.
// Open fails with ErrBusy if a Read does not end within callTime, and with ErrLibraryNotFound,
// ErrDriverNotLoaded, ErrVersionMismatch or another error of the driver. If the library loads but
// does not start, the Driver still names the library.
func (l *Library) Open() (Driver, []Device, error) {
	wasOpen, err := l.gate.begin()
	if err != nil {
		return Driver{}, nil, fmt.Errorf("nvml: open: %w", err)
	}
	open := false
	defer func() { l.gate.end(open) }()
	if wasOpen {
		l.shutdown()
	}
	driver, devices, err := l.start()
	if err != nil {
		return driver, nil, fmt.Errorf("nvml: open: %w", err)
	}
	open = true
	return driver, devices, nil
}

// Close shuts the library down, so that the driver can be unloaded. It fails with ErrBusy if a Read
// does not end within callTime.
func (l *Library) Close() error {
	wasOpen, err := l.gate.begin()
	if err != nil {
		return fmt.Errorf("nvml: close: %w", err)
	}
	defer l.gate.end(false)
	if wasOpen {
		l.shutdown()
	}
	return nil
}

// Capabilities lists the calls that vramscope uses, and whether the library has them. It returns
// nil before the library is loaded.
func (l *Library) Capabilities() []Capability {
	if lib := l.loaded.Load(); lib != nil {
		return lib.symbols.capabilities()
	}
	return nil
}

// NeedsRestart reports whether only a new process can overcome an error of Open or Read: the
// kernel driver and the loaded library differ in version, and the library on disk has changed. If
// it has not changed, the driver upgrade is unfinished, and a restart would not help.
func (l *Library) NeedsRestart(err error) bool {
	lib := l.loaded.Load()
	return lib != nil && errors.Is(err, ErrVersionMismatch) && lib.replaced()
}

// load loads the library and looks up its entry points, once.
func (l *Library) load() (*loaded, error) {
	if lib := l.loaded.Load(); lib != nil {
		return lib, nil
	}
	library, err := openDirect(l.options.LibraryPath)
	if err != nil {
		return nil, err
	}
	lib := &loaded{direct: library, symbols: make(symbolSet, len(symbols))}
	for i, entry := range symbols {
		lib.symbols[i] = library.lookup(entry.name) != nil
	}
	if name := lib.symbols.missing(); name != "" {
		err := newError("dlsym "+name, gonvml.ERROR_LIBRARY_NOT_FOUND)
		err.Detail = l.options.LibraryPath + " is not the NVIDIA management library"
		return nil, err
	}
	lib.memoryCall = library.lookup(symbols[symMemoryV2].name)
	lib.samplesCall = library.lookup(symbols[symProcessUtilization].name)
	lib.addList(Compute, symComputeV3, symComputeV2, symComputeV1)
	lib.addList(Graphics, symGraphicsV3, symGraphicsV2, symGraphicsV1)
	lib.addList(MPS, symMPSV3, symMPSV2, symMPSV1)
	l.loaded.Store(lib)
	return lib, nil
}

// addList adds the newest version of a process list that the library has. The oldest version has
// the short structs.
func (l *loaded) addList(kind ProcessType, newest, older, oldest symbol) {
	for _, choice := range []symbol{newest, older, oldest} {
		if !l.symbols[choice] {
			continue
		}
		promised := strideV2
		if choice == oldest {
			promised = strideV1
		}
		call := l.lookup(symbols[choice].name)
		l.lists = append(l.lists, processList{symbol: choice, call: call, promised: promised, kind: kind})
		return
	}
}

func (l *Library) start() (Driver, []Device, error) {
	lib, err := l.load()
	if err != nil {
		return Driver{}, nil, err
	}
	driver := Driver{LibraryPath: lib.path, LibraryVersion: lib.release()}
	ret := l.api.Init()
	if ret == gonvml.ERROR_GPU_NOT_FOUND && lib.symbols[symInitWithFlags] {
		ret = l.api.InitWithFlags(gonvml.INIT_FLAG_NO_GPUS)
	}
	if ret != gonvml.SUCCESS {
		return driver, nil, newError(symbols[symInit].name, ret)
	}
	l.describe(lib, &driver)
	devices, err := l.list(lib)
	if err != nil {
		l.shutdown()
		return driver, nil, err
	}
	return driver, devices, nil
}

// describe fills in the versions. A version that the driver refuses stays empty.
func (l *Library) describe(lib *loaded, driver *Driver) {
	if lib.symbols[symDriverVersion] {
		if version, ret := l.api.SystemGetDriverVersion(); ret == gonvml.SUCCESS {
			driver.Version = text.Strip(version)
		}
	}
	cuda, ret := 0, gonvml.ERROR_FUNCTION_NOT_FOUND
	if lib.symbols[symCUDAVersion] {
		cuda, ret = l.api.SystemGetCudaDriverVersion_v2()
	}
	if ret != gonvml.SUCCESS && lib.symbols[symCUDAVersionV1] {
		cuda, ret = l.api.SystemGetCudaDriverVersion()
	}
	if ret == gonvml.SUCCESS {
		driver.CUDAVersion = cudaVersion(cuda)
	}
}

func (l *Library) shutdown() {
	for _, g := range l.gpus {
		g.unsubscribe()
	}
	l.gpus = nil
	_ = l.api.Shutdown() // no error would need an action
}
