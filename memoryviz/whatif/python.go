package whatif

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"vramscope/internal/process"
)

// Python is a Python interpreter with PyTorch, and the user as whom Replay runs the interpreter.
type Python struct {
	Connected bool // the interpreter ran with a network, because the kernel refused a namespace without one

	path      string   // of the interpreter
	site      string   // the directory that torch is in
	paths     []string // import paths, apart from the standard library
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
	if err := p.owned(of); err != nil || p.uid != 0 {
		return p, err // the interpreter runs as the user of the process
	}
	return p, p.owned(slices.Concat(p.paths, []string{of, path})...)
}

// Named returns a Python by its file, or by its name in PATH.
func Named(ctx context.Context, name string) (*Python, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, err
	}
	p := &Python{path: path, libraries: os.Getenv("LD_LIBRARY_PATH"), paths: filepath.SplitList(os.Getenv("PYTHONPATH"))}
	environment := filepath.Dir(filepath.Dir(path)) // perhaps a virtual environment, which -S leaves out
	files := slices.Concat(p.paths, []string{path, filepath.Dir(path), environment, environment + "/pyvenv.cfg"})
	if err := p.owned(files...); err != nil {
		return nil, err
	}
	out, err := p.run(ctx, nil, "-I", "-S", "-c", places, environment)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for place := range strings.Lines(string(out)) {
		p.paths = append(p.paths, strings.TrimSuffix(place, "\n"))
	}
	for _, site := range p.paths {
		if _, err := os.Stat(site + inTorch); err == nil && p.site == "" {
			p.site = site
		}
	}
	return p, p.owned(slices.Concat(files, p.paths)...)
}

// places is a program that prints Python's import paths without reading .pth files.
const places = `import sys, site
print(*sys.path, *site.getsitepackages(), sys.argv[1] + "/lib/python%d.%d/site-packages" % sys.version_info[:2], sep="\n")`

// owned sets the user of the child. Under root, that is the owner of the files: the one other user
// who owns some of them, or root if root owns all.
func (p *Python) owned(files ...string) error {
	if p.uid, p.gid = uint32(os.Geteuid()), uint32(os.Getegid()); p.uid != 0 {
		return nil
	}
	for _, file := range files {
		for _, look := range []func(string, *syscall.Stat_t) error{syscall.Lstat, syscall.Stat} {
			var info syscall.Stat_t
			switch err := look(file, &info); {
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			case err != nil:
				return fmt.Errorf("%s: %w", file, err)
			case info.Uid == 0 || info.Uid == p.uid:
			case p.uid != 0:
				return fmt.Errorf("%s is another user's than the rest: it is not run as root", file)
			default:
				p.uid, p.gid = info.Uid, info.Gid
			}
		}
	}
	return nil
}
