package process

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/panics"
)

// Variable is one variable of a process's environment, as it stands: hostile
// input, to be cleaned before it is shown.
type Variable struct{ Name, Value string }

// environmentSize bounds what is read; the kernel allows megabytes.
const environmentSize = 1 << 20

// Environment gives those variables that decide what a process does with GPU
// memory, by name: which GPUs it sees, how its allocators are set up, which
// rank of a job it is. Nothing else leaves this function, because
// environments hold passwords.
//
// It is the environment at the start of the program: what the program has set
// since is not seen.
func (t *Table) Environment(id Identity) ([]Variable, error) {
	if id.Foreign() {
		return nil, refuse("PID %d is not in this /proc: another container's process", id.PID)
	}
	content, err := t.readEnvironment(id.PID)
	if errors.Is(err, fs.ErrPermission) {
		return nil, refuse("the environment of PID %d may not be read: it is another user's process", id.PID)
	}
	if err != nil {
		return nil, fmt.Errorf("process: environment of PID %d: %w", id.PID, err)
	}
	// Compared after the reading: what was read is then this process's.
	now, err := t.Identify(id.PID)
	if err != nil {
		return nil, err
	}
	if !id.same(now) {
		return nil, refuse("PID %d is another process now", id.PID)
	}
	return parseEnvironment(content), nil
}

var errStuck = errors.New("it does not answer: stuck in a system call")

// readEnvironment reads with a deadline, because the kernel takes the
// process's memory lock for it. A read that hangs is left behind, in a slot.
func (t *Table) readEnvironment(pid int) ([]byte, error) {
	type answer struct {
		content []byte
		err     error
		panic   *panics.Caught
	}
	deadline := time.NewTimer(lookTimeout)
	defer deadline.Stop()
	select {
	case t.slots <- struct{}{}:
	case <-deadline.C:
		return nil, errStuck
	}
	answers := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			a.panic = panics.Catch(recover())
			answers <- a
			<-t.slots
		}()
		a.content, a.err = readLimited(filepath.Join(t.root, strconv.Itoa(pid), "environ"), environmentSize)
	}()
	select {
	case a := <-answers:
		a.panic.Again()
		return a.content, a.err
	case <-deadline.C:
		return nil, errStuck
	}
}

func readLimited(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, limit))
}

// parseEnvironment splits "NAME=value\0…" and keeps what matters here.
func parseEnvironment(content []byte) []Variable {
	var kept []Variable
	for entry := range bytes.SplitSeq(content, []byte{0}) {
		name, value, ok := strings.Cut(string(entry), "=")
		if ok && wanted(name) {
			kept = append(kept, Variable{name, value})
		}
	}
	slices.SortStableFunc(kept, func(a, b Variable) int { return cmp.Compare(a.Name, b.Name) })
	return kept
}

// wanted reports whether a variable has to do with GPU memory. A name that
// smells of a secret is left out even where its prefix is right.
func wanted(name string) bool {
	for _, secret := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"} {
		if strings.Contains(name, secret) {
			return false
		}
	}
	switch name {
	case "RANK", "LOCAL_RANK", "WORLD_SIZE", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONMALLOC", "SLURM_JOB_ID", "SLURM_PROCID":
		return true
	}
	for _, prefix := range []string{"CUDA_", "NVIDIA_", "PYTORCH_", "TORCH_", "NCCL_", "XLA_", "JAX_", "TF_", "CUPY_", "RMM_", "VLLM_", "VRAMSCOPE_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
