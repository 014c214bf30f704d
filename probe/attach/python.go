package attach

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/bounded"
)

// python is the interpreter in a process: the program itself, its library, or one
// embedded in another program.
type python struct {
	version      version
	freeThreaded bool
	text         []mapping // CPython's own code; none if an allocator is part of it
	library      []mapping // the C library's code
	functions    map[string]function
	missing      []string // needed functions that are not exported
}

// function is a function's address in the process, and its first bytes to verify it by.
type function struct {
	address uint64
	head    []byte
}

const headSize = 16 // how many bytes of a function are compared

// The functions needed to start a thread. Those of Python are public API, which every build exports
// for its extension modules.
var (
	pythonNames  = [...]string{"Py_IsInitialized", "PyGILState_Ensure", "PyGILState_Release", "PyRun_SimpleString"}
	libraryNames = [...]string{"mmap", "__errno_location", "pthread_create", "pthread_detach"}
)

// symbolNames are all names that a file is asked for: a hostile file may export millions of others.
var symbolNames = slices.Concat(pythonNames[:], libraryNames[:], []string{
	"Py_Main", "Py_BytesMain", "Py_Version", "_Py_MergeZeroLocalRefcount", "malloc",
})

// reachable returns the path by which to open a file of a process. The program itself
// can be opened even after it has been replaced.
func (a *Attacher) reachable(pid int, path, executable string) string {
	if path == executable {
		return filepath.Join(a.proc, strconv.Itoa(pid), "exe")
	}
	return filepath.Join(a.proc, strconv.Itoa(pid), "root", path)
}

// pythonFiles returns the mapped files that may be an interpreter. The program comes
// first: its exports take precedence over a library's.
func pythonFiles(executable string, maps []mapping) []string {
	candidates := []string{executable}
	for _, path := range files(maps) {
		if strings.HasPrefix(base(path), "libpython") && path != executable {
			candidates = append(candidates, path)
		}
	}
	return candidates
}

// findPython finds the interpreter in a process, nil if there is none.
func (a *Attacher) findPython(pid int, executable string, maps []mapping) (*python, error) {
	for _, path := range pythonFiles(executable, maps) {
		p, err := openProgram(a.reachable(pid, path, executable), path, maps)
		if err != nil {
			if path == executable && (!errors.Is(err, errOtherProcessor) || !isPythonName(base(path))) {
				continue // not Python itself
			}
			return nil, err
		}
		if !p.has("PyRun_SimpleString") && !p.has("Py_Main") && !p.has("Py_BytesMain") {
			_ = p.close() // only read
			continue
		}
		found, err := a.readPython(pid, p, executable, maps)
		_ = p.close() // only read
		return found, err
	}
	return nil, nil
}

func (a *Attacher) readPython(pid int, p *program, executable string, maps []mapping) (*python, error) {
	notLibrary := func(m mapping) bool { return !m.code || !isGlibc(m.path) && !isThreads(m.path) }
	found := &python{
		text: p.text, library: slices.DeleteFunc(slices.Clone(maps), notLibrary), functions: make(map[string]function),
		version: versionOf(p, executable),
		// Only free-threaded builds export this symbol, and their file names end in t.
		freeThreaded: p.has("_Py_MergeZeroLocalRefcount") || strings.Contains(base(p.path), "t.so") || isPythonName(base(executable)) && strings.HasSuffix(executable, "t"),
	}
	if p.has("malloc") {
		found.text = nil // it has an allocator of its own: a thread in its code may hold the heap's lock
	}
	if err := found.take(p, pythonNames[:]); err != nil {
		return nil, err
	}
	wanted := libraryNames[:]
	for _, path := range files(maps) {
		if !isGlibc(path) && !isThreads(path) {
			continue
		}
		library, err := openProgram(a.reachable(pid, path, executable), path, maps)
		if err != nil {
			return nil, err
		}
		present := slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return library.function(name) == 0 })
		wanted = slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return slices.Contains(present, name) })
		if err := errors.Join(found.take(library, present), library.close()); err != nil {
			return nil, err
		}
	}
	if len(found.library) > 0 { // checkLibrary refuses another C library
		found.missing = append(found.missing, wanted...)
	}
	return found, nil
}

// take records the addresses and the first bytes of functions.
func (p *python) take(from *program, names []string) error {
	for _, name := range names {
		address := from.function(name)
		if address == 0 {
			p.missing = append(p.missing, name)
			continue
		}
		head, err := from.bytesAt(address, headSize)
		if err != nil {
			return err
		}
		p.functions[name] = function{address, head}
	}
	return nil
}

func readMemory(dir string, address uint64, n int) ([]byte, error) {
	file, err := os.Open(filepath.Join(dir, "mem"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	content := make([]byte, n)
	if _, err := file.ReadAt(content, int64(address)); err != nil {
		return nil, err
	}
	return content, nil
}

// verify checks that the functions in the process begin as in the files from which their addresses
// come.
func (p *python) verify(dir string) error {
	for name, f := range p.functions {
		there, err := readMemory(dir, f.address, len(f.head))
		if err != nil {
			return fmt.Errorf("its memory cannot be read: %w", err)
		}
		if !bytes.Equal(there, f.head) {
			return fmt.Errorf("its %s differs from the file: the file was replaced, or the process patched", name)
		}
	}
	return nil
}

// isGlibc recognises libc.so.6 and libc-2.31.so.
func isGlibc(path string) bool {
	name := base(path)
	return name == "libc.so.6" || strings.HasPrefix(name, "libc-2.") && strings.HasSuffix(name, ".so")
}

// isThreads recognises libpthread-2.31.so and libpthread.so.0, where threads were before glibc 2.34.
func isThreads(path string) bool {
	return strings.HasPrefix(base(path), "libpthread-2.") || base(path) == "libpthread.so.0"
}

// runnable returns the path by which to run a process's program, or "". It prefers the program's own
// path, from which the program finds its libraries, to /proc/PID/exe.
func (a *Attacher) runnable(pid int, executable string) string {
	link := filepath.Join(a.proc, strconv.Itoa(pid), "exe")
	its, err := os.Stat(link)
	if err != nil || its.Mode()&0o111 == 0 || its.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		return ""
	}
	if named, err := os.Stat(executable); err == nil && os.SameFile(its, named) {
		return executable
	}
	return link
}

func output(ctx context.Context, timeout time.Duration, environment []string, program string, args ...string) (string, error) {
	command := bounded.Command{Path: program, Arguments: args, Environ: environment, Time: timeout, Limit: maxPrinted}
	out, err := command.Output(ctx)
	return string(out), err
}

const maxPrinted = 64 << 10 // how many bytes of a program's output are kept

// cleanEnvironment returns an environment with only PATH from this program's: PYTHONHOME would
// break the Python in gdb.
func cleanEnvironment() []string {
	path := cmp.Or(os.Getenv("PATH"), "/usr/local/bin:/usr/bin:/bin")
	return []string{"PATH=" + path, "LC_ALL=C", "TERM=dumb", "SHELL=/bin/sh", "HOME=/nonexistent"}
}

// version is a version of Python; micro is -1 if unknown.
type version struct{ major, minor, micro int }

func (v version) known() bool { return v.major > 0 }

func (v version) String() string {
	switch {
	case !v.known():
		return ""
	case v.micro < 0:
		return fmt.Sprintf("%d.%d", v.major, v.minor)
	}
	return fmt.Sprintf("%d.%d.%d", v.major, v.minor, v.micro)
}

// atLeast compares the first two numbers.
func (v version) atLeast(major, minor int) bool {
	return v.major > major || v.major == major && v.minor >= minor
}

// versionOf returns a program's version: from a variable since 3.11, from file names before.
// Source: https://docs.python.org/3/c-api/apiabiversion.html
func versionOf(p *program, executable string) version {
	if hex, ok := p.number("Py_Version"); ok && hex>>24 == 3 {
		return version{int(hex >> 24), int(hex >> 16 & 0xff), int(hex >> 8 & 0xff)}
	}
	for _, name := range []string{strings.TrimPrefix(base(p.path), "lib"), base(executable)} {
		if v, ok := versionInName(name); ok {
			return v
		}
	}
	return version{}
}

// versionInName reads "python3.9", "python3.9.so.1.0", "python3.13t".
func versionInName(name string) (version, bool) {
	rest, ok := strings.CutPrefix(name, "python")
	if !ok {
		return version{}, false
	}
	rest, _, _ = strings.Cut(rest, ".so")
	numbers, ok := numbersOf(strings.TrimRight(rest, "mdt"), 2)
	if !ok {
		return version{}, false
	}
	return version{numbers[0], numbers[1], -1}, true
}

// numbersOf reads n numbers with dots between them.
func numbersOf(text string, n int) ([]int, bool) {
	words := strings.Split(text, ".")
	if len(words) != n {
		return nil, false
	}
	numbers := make([]int, n)
	for i, word := range words {
		number, err := strconv.ParseUint(word, 10, 16)
		if err != nil {
			return nil, false
		}
		numbers[i] = int(number)
	}
	return numbers, true
}

// askVersion runs the program for its version: "Python 3.9.18".
func askVersion(ctx context.Context, program string) (version, bool) {
	out, err := output(ctx, procTimeout, cleanEnvironment(), program, "-V")
	if err != nil {
		return version{}, false
	}
	return parseVersion(out)
}

func parseVersion(text string) (version, bool) {
	rest, ok := strings.CutPrefix(text, "Python ")
	// A pre-release is "3.15.0a1+".
	if end := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); end >= 0 {
		rest = rest[:end]
	}
	numbers, whole := numbersOf(rest, 3)
	if !ok || !whole {
		return version{}, false
	}
	return version{numbers[0], numbers[1], numbers[2]}, true
}
