package whatif

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"vramscope/internal/process"
)

// Python is a Python with PyTorch in it, and whose rights it is run with.
type Python struct {
	Connected bool // the kernel did not let it be without a network

	path      string   // of the interpreter
	site      string   // the directory that torch is in
	paths     []string // where it imports from besides its own library
	libraries string   // LD_LIBRARY_PATH
	uid, gid  uint32
}

const inTorch = "/torch/lib/libc10_cuda.so"

// Of returns the Python that a process runs.
func Of(pid int) (*Python, error) {
	of := fmt.Sprintf("/proc/%d/", pid)
	path, unread := os.Readlink(of + "exe")
	its, err := os.Readlink(of + "ns/mnt")
	own, failed := os.Readlink("/proc/self/ns/mnt")
	maps, unmapped := process.ReadLimited(of+"maps", 64<<20)
	environment, unknown := process.ReadLimited(of+"environ", 1<<20)
	if err := cmp.Or(unread, err, failed, unmapped, unknown); err != nil {
		return nil, fmt.Errorf("its files cannot be read: %w", err)
	}
	if own != its {
		return nil, errors.New("it runs in a container, with other files")
	}
	p := &Python{path: path, libraries: process.ValueOf(environment, "LD_LIBRARY_PATH")}
	for line := range strings.Lines(string(maps)) {
		_, at, _ := strings.Cut(strings.TrimSpace(line), "/")
		if site, ok := strings.CutSuffix("/"+at, inTorch); ok {
			p.site = site
		}
	}
	p.paths = append(filepath.SplitList(process.ValueOf(environment, "PYTHONPATH")), p.site)
	return p, p.owned(of)
}

// Named returns a Python by its file, or by its name in PATH.
func Named(ctx context.Context, name string) (*Python, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, err
	}
	p := &Python{path: path, libraries: os.Getenv("LD_LIBRARY_PATH"), paths: filepath.SplitList(os.Getenv("PYTHONPATH"))}
	if err := p.owned(path); err != nil {
		return nil, err
	}
	out, err := p.run(ctx, nil, "-I", "-c", "import sys; print(*sys.path, sep='\\n')")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p.paths = append(p.paths, strings.Fields(string(out))...)
	for _, site := range p.paths {
		if _, err := os.Stat(site + inTorch); err == nil && p.site == "" {
			p.site = site
		}
	}
	return p, p.owned(path)
}

// owned decides whose rights the child gets. What root runs is root's; else it runs with its owner's.
func (p *Python) owned(file string) error {
	if p.uid, p.gid = uint32(os.Geteuid()), uint32(os.Getegid()); p.uid != 0 {
		return nil
	}
	for _, path := range []string{file, p.path, p.site} {
		var info syscall.Stat_t
		if err := syscall.Stat(path, &info); path != "" && err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if p.uid == 0 {
			p.uid, p.gid = info.Uid, info.Gid
		}
	}
	return nil
}
