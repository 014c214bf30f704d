package process

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Variable is one variable of a process's environment: hostile input.
type Variable struct{ Name, Value string }

// environmentSize limits what is read; the kernel allows megabytes.
const environmentSize = 1 << 20

// Environment returns the variables that affect a process's use of GPU memory, sorted by name, with
// the values at its start: the GPUs it sees, the settings of its allocators, its rank in a job. It
// returns no other variable, because environments hold passwords.
func (t *Table) Environment(id Identity) ([]Variable, error) {
	if id.Foreign() {
		return nil, refuse("PID %d is not in this /proc: %s", id.PID, id.Whose())
	}
	content, err := t.readEnvironment(id.PID)
	if errors.Is(err, fs.ErrPermission) {
		return nil, refuse("the environment of PID %d may not be read: it is another user's process", id.PID)
	}
	if err != nil {
		return nil, fmt.Errorf("process: environment of PID %d: %w", id.PID, err)
	}
	// The process is identified again after the read: if it is the same, the content is its own.
	now, err := t.Identify(id.PID)
	if err != nil {
		return nil, err
	}
	if !id.Same(now) {
		return nil, refuse("PID %d is another process now", id.PID)
	}
	return parseEnvironment(content), nil
}

var errHanging = errors.New("it does not answer: a system call hangs")

// readEnvironment reads with a deadline, because the kernel takes the process's memory lock
// for the read. A read that hangs keeps its slot.
func (t *Table) readEnvironment(pid int) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), lookTimeout, errHanging)
	defer cancel()
	select {
	case t.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, errHanging
	}
	path := filepath.Join(t.root, strconv.Itoa(pid), "environ")
	return ReadAside(ctx, path, environmentSize, func() { <-t.slots })
}

// ReadAside does what ReadLimited does until the context ends: a read that hangs is abandoned. When
// the read ends, ended is called, even after the context has ended.
func ReadAside(ctx context.Context, path string, limit int, ended func()) ([]byte, error) {
	done := make(chan struct{})
	var read []byte
	var failed error
	go func() {
		defer ended()
		defer close(done)
		read, failed = ReadLimited(path, limit)
	}()
	select {
	case <-done:
		return read, failed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// ReadLimited reads the start of a file. Package os would make twice as many system
// calls, to find out whether the file can be polled.
func ReadLimited(path string, limit int) ([]byte, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = syscall.Close(fd) }() // only read
	var small [2 << 10]byte                  // most files fit
	content := small[:0:min(limit, len(small))]
	for len(content) < limit {
		if len(content) == cap(content) {
			content = slices.Grow(content, len(content))
		}
		n, err := syscall.Read(fd, content[len(content):min(cap(content), limit)])
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		case n == 0:
			return bytes.Clone(content), nil
		default:
			content = content[:len(content)+n]
		}
	}
	return bytes.Clone(content), nil
}

// ReadProc reads a small file of /proc into buf in one read, because the kernel makes the whole
// content at once. A file that fills buf is read again, into memory of its own.
func ReadProc(path string, buf []byte, limit int) ([]byte, error) {
	n, err := readOnce(path, buf)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return buf[:0], nil // it is empty
	case err == nil && n == len(buf):
		return ReadLimited(path, limit)
	}
	return buf[:max(n, 0)], err
}

// Variables iterates over an environment, "NAME=value\0…". An entry without a "=" has a nil value.
func Variables(environment []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for rest := environment; rest != nil; {
			var entry []byte
			entry, rest, _ = bytes.Cut(rest, []byte{0})
			name, value, _ := bytes.Cut(entry, []byte{'='})
			if !yield(string(name), value) {
				return
			}
		}
	}
}

// ValueOf returns the first value of a variable in an environment, "" if it has none.
func ValueOf(environment []byte, name string) string {
	for found, value := range Variables(environment) {
		if found == name && value != nil {
			return string(value)
		}
	}
	return ""
}

func parseEnvironment(content []byte) []Variable {
	var kept []Variable
	for name, value := range Variables(content) {
		if value != nil && wanted(name) {
			kept = append(kept, Variable{name, string(value)})
		}
	}
	slices.SortStableFunc(kept, func(a, b Variable) int { return cmp.Compare(a.Name, b.Name) })
	return kept
}

// wanted reports whether a variable affects GPU memory. A variable whose name suggests a secret is
// not wanted.
func wanted(name string) bool {
	secrets := []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"}
	if slices.ContainsFunc(secrets, func(secret string) bool { return strings.Contains(strings.ToUpper(name), secret) }) {
		return false
	}
	switch name {
	case "RANK", "LOCAL_RANK", "WORLD_SIZE", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONMALLOC", "SLURM_JOB_ID", "SLURM_PROCID":
		return true
	}
	prefixes := []string{"CUDA_", "NVIDIA_", "PYTORCH_", "TORCH_", "NCCL_", "XLA_", "JAX_", "TF_", "CUPY_", "RMM_", "VLLM_", "VRAMSCOPE_"}
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
