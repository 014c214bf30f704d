//go:build linux && cgo

package reallibraries

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
)

// framework is a library whose memory no flush frees.
type framework struct {
	name    string // the name of its releases, of its job, and of its allocators' kind
	refusal string // a part of the message with which a flush is refused
	setups  []setup
}

// setup is a way in which programs use a framework.
type setup struct {
	name, way string
	settings  []string
	child     bool // the program is a child of the one that was started
	shim      bool // runs only with the native probe, because the other ways show nothing more
	devices   []int
	known     string // the identity in which a known fault shows
}

const isRefused = "no flush" // a flush is refused, says why, and changes nothing

var frameworks = []framework{
	{name: "jax", refusal: "JAX", setups: []setup{
		{name: "preallocation", way: "plain"},
		{name: "preallocation off", way: "computing", settings: []string{"XLA_PYTHON_CLIENT_PREALLOCATE=false", "XLA_FLAGS=--xla_gpu_autotune_level=0"}},
		{name: "platform", way: "plain", settings: []string{"XLA_PYTHON_CLIENT_ALLOCATOR=platform"}},
		{name: "cuda_async", way: "plain", settings: []string{"XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async"}},
		{name: "two GPUs", way: "two_gpus", shim: true, devices: []int{0, 1}},
		{name: "out of memory", way: "exhausted", shim: true},
		{name: "child process", way: "plain", shim: true, child: true},
	}},
	{name: "tensorflow", refusal: "TensorFlow", setups: []setup{
		{name: "preallocation", way: "plain"},
		{name: "growth", way: "two_gpus", settings: []string{"TF_FORCE_GPU_ALLOW_GROWTH=true"}, devices: []int{0, 1}},
		{name: "cuda_malloc_async", way: "plain", settings: []string{"TF_GPU_ALLOCATOR=cuda_malloc_async"}},
		{name: "out of memory", way: "exhausted", shim: true},
	}},
	{name: "numba", refusal: "no memory pools", setups: []setup{
		{name: "arrays", way: "plain", shim: true},
		{name: "two GPUs", way: "two_gpus", shim: true, devices: []int{0, 1}},
		{name: "host and managed memory", way: "host", shim: true},
		// Numba frees pending memory and tries again. So each error is two failed calls, and the
		// probe sees only calls.
		{name: "out of memory", way: "exhausted", shim: true, known: isErrors},
		{name: "child process", way: "plain", shim: true, child: true},
	}},
}

// TestFrameworks compares what vramscope shows of each setup with the library's own
// figures and the driver's.
func TestFrameworks(t *testing.T) {
	for _, f := range frameworks {
		t.Run(f.name, func(t *testing.T) {
			sites, vramscope := releases(t, f.name), needs.Vramscope(t)
			for _, site := range sites {
				for _, how := range []string{byRun, byAttach, withShim} {
					for _, s := range f.setups {
						if s.shim && how != withShim {
							continue
						}
						t.Run(strings.Join([]string{filepath.Base(site), how, s.name}, "/"), func(t *testing.T) {
							f.compare(t, s, job{vramscope: vramscope, site: site, how: how})
						})
					}
				}
			}
		})
	}
}

// withDevices starts the tests again in a mount namespace with /dev/nvidiactl, which
// JAX looks for. The programs and vramscope are then in one mount namespace, as on any
// machine.
func withDevices() {
	const done = "VRAMSCOPE_REAL_DEVICES"
	if os.Getenv("VRAMSCOPE_REAL_LIBRARIES") == "" || os.Getenv(done) != "" {
		return
	}
	program, err := fakedriver.CompileDevices()
	if errors.Is(err, fakedriver.ErrNoCompiler) {
		return // the tests report it
	}
	if err == nil {
		err = syscall.Exec(program, append([]string{program, os.Args[0]}, os.Args...), append(os.Environ(), done+"=1"))
	}
	panic(err)
}

// asChild is a Python program that starts its arguments as a child and waits for it.
const asChild = "import subprocess, sys; sys.exit(subprocess.call([sys.executable] + sys.argv[1:]))"

func (f framework) compare(t *testing.T, s setup, j job) {
	if _, err := os.Stat("/dev/nvidiactl"); err != nil && f.name == "jax" {
		t.Skipf("JAX uses no GPU: %v, and mounts are not permitted", err)
	}
	into := newCell(t, j, s.name)
	into.known = s.known
	j.command = []string{"python3", f.name + "_job.py"}
	if s.child {
		j.command = slices.Insert(j.command, 1, "-c", asChild)
	}
	j.settings = append([]string{"TF_CPP_MIN_LOG_LEVEL=1"}, s.settings...)
	p := start(t, j).begin(t, s.way, false, nil)
	devices := s.devices
	if devices == nil {
		devices = []int{0}
	}
	for _, device := range devices {
		p.agree(into, f, device)
	}
	into.note(t, isRefused, p.refuses(f, s, devices)...)
	into.cost(p)
}

// agree waits until a device's row agrees with the program's figures, because a report
// may be a second old.
func (p *program) agree(into *cell, f framework, device int) {
	p.t.Helper()
	var own figures
	var shown row
	var found map[string][]string
	eventually(func() bool {
		own, shown = p.figures(device), p.row(device)
		found = p.differences(f, device, own, shown)
		for identity, differences := range found {
			if len(differences) > 0 && identity != into.known {
				return false
			}
		}
		return true
	})
	for identity, differences := range found {
		into.note(p.t, identity, differences...)
		if len(differences) > 0 {
			p.t.Logf("GPU %d\nthe library: %+v\nvramscope: %s", device, own, shown)
		}
	}
}

func (p *program) differences(f framework, device int, own figures, shown row) map[string][]string {
	found := map[string][]string{}
	held := p.capacity[device] - own.Free
	wrong := differ(nil, "used", shown.Used, held)
	if _, known := own.Stats["reserved_bytes"]; own.Stats != nil && !known && p.job.how != withShim {
		// TensorFlow does not report what it has reserved.
		if shown.Other != nil {
			wrong = append(wrong, fmt.Sprintf("other: %d, want unknown", *shown.Other))
		}
	} else {
		if own.Stats != nil && !known { // the native probe sees what is reserved
			reserved := held - contextBytes
			own.Stats["reserved_bytes"], own.Stats["cached_bytes"] = reserved, reserved-own.Stats["allocated_bytes"]
		}
		wrong = differ(wrong, "other", shown.Other, contextBytes)
	}
	found[isDriver] = wrong
	if own.Stats != nil {
		found[isStats] = compareReport(shown.allocator(f.name), own.Stats)
	}
	raw := number(shown.allocator("raw"), "allocated_bytes")
	if raw != nil || own.Beside > 0 {
		found[isDriver] = differ(found[isDriver], "raw", raw, own.Beside)
	}
	if counted := errorsOf(shown); counted != nil || f.name == "numba" { // JAX and TensorFlow do not count errors
		found[isErrors] = differ(nil, "out of memory", counted, own.Errors)
	}
	return found
}

// errorsOf returns how many errors a row's allocators count, nil if none counts them.
func errorsOf(shown row) (sum *int64) {
	for _, a := range shown.Allocators {
		if count := number(a, "out_of_memory_count"); count != nil {
			if sum == nil {
				sum = new(int64)
			}
			*sum += *count
		}
	}
	return sum
}

// refuses asks for a flush, which must be refused, and returns what is wrong with the refusal.
func (p *program) refuses(f framework, s setup, devices []int) (wrong []string) {
	p.t.Helper()
	free := map[int]int64{}
	for _, device := range devices {
		free[device] = p.figures(device).Free
		if returnable := p.row(device).Returnable; returnable == nil || *returnable != 0 {
			wrong = append(wrong, "it is returnable")
		}
	}
	_, err := p.vramscope("flush", strconv.Itoa(p.pid), "--yes")
	text := fmt.Sprint(err)
	if !strings.Contains(text, "exit status 3") || !strings.Contains(text, "refused: ") || !strings.Contains(text, f.refusal) {
		wrong = append(wrong, "flush: "+text)
	}
	for _, setting := range s.settings {
		if strings.Contains(text, setting) {
			wrong = append(wrong, "it advises what is so: "+text)
		}
	}
	for _, device := range devices {
		wrong = differ(wrong, "free, after a flush", new(p.figures(device).Free), free[device])
	}
	return wrong
}
