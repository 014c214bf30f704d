// Package whatif replays a trace of allocations through the user's own PyTorch, under other
// settings of its allocator. A child process imports PyTorch on a stand-in for the CUDA runtime
// (runtime/runtime.c) that only counts memory, and makes the trace's requests (replay.py).
// docs/inside.md says how exact the replay is.
package whatif

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"vramscope/internal/bounded"
	"vramscope/internal/install"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/schema"
)

//go:embed replay.py
var script string

//go:embed runtime-*.so.gz
var standIns embed.FS

// Settings are the settings that are tried by default. The first, "", stands for PyTorch's own.
var Settings = []string{"", "expandable_segments:True", "max_split_size_mb:64", "roundup_power2_divisions:8", "garbage_collection_threshold:0.6"}

// Document is what `vramscope what-if --format json` writes.
type Document struct {
	Schema  string      `json:"schema"`
	Source  schema.Text `json:"source"` // a file, or a PID
	Torch   schema.Text `json:"torch"`  // its version
	Notes   []string    `json:"notes"`
	Devices []Device    `json:"devices"`
}

// Device is the replay of one GPU's trace.
type Device struct {
	Ordinal  int             `json:"ordinal"` // as the program numbers its GPUs
	Events   int             `json:"events"`
	Estimate *schema.Text    `json:"estimate"` // why the replay is only an estimate; null if it is exact
	Recorded quantity.Bytes  `json:"recorded_reserved_bytes"`
	Failed   bool            `json:"recorded_out_of_memory"`
	Asked    *quantity.Bytes `json:"recorded_failed_bytes"` // the size of the allocation that failed
	Results  []Result        `json:"settings"`              // the program's own first
}

// Result holds the allocator's figures under some settings.
type Result struct {
	Settings   string         `json:"settings"`       // "" stands for PyTorch's own
	Reserved   quantity.Bytes `json:"reserved_bytes"` // at its highest
	Allocated  quantity.Bytes `json:"allocated_bytes"`
	Fragmented quantity.Bytes `json:"fragmented_bytes"` // when most was reserved
	Failed     *bool          `json:"out_of_memory"`    // null if the GPU's size is not known
	Smallest   *int           `json:"smallest_gpu_gib"` // of the common sizes, the smallest on which nothing fails; null if there is none
}

// sizes are the sizes of common GPUs, in GiB. With ECC a sixteenth of a GPU's memory cannot be used.
var sizes = []int{4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 80, 96, 141, 192}

// Replay replays the traces in a snapshot under their own settings and others. memory is how much of
// the GPU PyTorch can use, 0 if unknown. outside is how much the process uses outside of PyTorch.
func (p *Python) Replay(ctx context.Context, snapshot []byte, settings []string, memory, outside quantity.Bytes) (doc Document, err error) {
	packed, err := standIns.ReadFile("runtime-" + runtime.GOARCH + ".so.gz")
	library, broken := install.Unpack(packed)
	head, encoded := json.Marshal(map[string]any{
		"site": p.site, "paths": p.paths, "stand_in_bytes": len(library), "settings": settings, "memory": memory, "outside": outside, "sizes": sizes,
	})
	if err := errors.Join(err, broken, encoded); err != nil {
		return doc, err
	}
	if p.site == "" {
		return doc, errors.New("there is no PyTorch for CUDA beside " + p.path)
	}
	said, err := p.run(ctx, slices.Concat(head, []byte("\n"), library, snapshot), "-I", "-S", "-W", "ignore", "-c", script)
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	last := lines[len(lines)-1]
	answer := struct {
		*Document
		Refused string
	}{Document: &doc}
	if wrong := json.Unmarshal([]byte(last), &answer); err != nil || wrong != nil {
		return doc, fmt.Errorf("the replay ended early (%w): %s", cmp.Or(err, wrong), text.Clean(last))
	}
	if answer.Refused != "" {
		return doc, errors.New(text.Clean(answer.Refused))
	}
	return doc, nil
}

// run runs the interpreter as the Python's user, with a minimal environment and, if the kernel allows it,
// without a network. It returns the interpreter's output.
func (p *Python) run(ctx context.Context, input []byte, arguments ...string) ([]byte, error) {
	command := bounded.Command{
		Path: p.path, Arguments: arguments, Input: input, Directory: "/", Time: 10 * time.Minute, Limit: 1 << 20,
		Environ: []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "LD_LIBRARY_PATH=" + p.libraries},
		System:  &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	}
	if os.Geteuid() == 0 {
		command.System.Credential = &syscall.Credential{Uid: p.uid, Gid: p.gid}
	}
	if !p.Connected && os.Geteuid() == 0 {
		command.System.Cloneflags = syscall.CLONE_NEWNET
	} else if !p.Connected {
		command.System.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET
		command.System.UidMappings = []syscall.SysProcIDMap{{ContainerID: int(p.uid), HostID: int(p.uid), Size: 1}}
		command.System.GidMappings = []syscall.SysProcIDMap{{ContainerID: int(p.gid), HostID: int(p.gid), Size: 1}}
	}
	said, err := command.Output(ctx)
	if _, unstarted := errors.AsType[*fs.PathError](err); unstarted && !p.Connected {
		p.Connected = true
		return p.run(ctx, input, arguments...)
	}
	return said, err
}
