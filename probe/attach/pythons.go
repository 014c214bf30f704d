package attach

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"vramscope/internal/process"
)

// Pythons lists the processes in /proc whose program or command is named like
// Python, by pid. It misses embedded Pythons, and only Examine knows whether one
// really is a Python.
func (a *Attacher) Pythons(ctx context.Context) []process.Identity {
	pids, err := numbersIn(a.options.Proc)
	if err != nil {
		return nil
	}
	var found []process.Identity
	for _, pid := range pids {
		if ctx.Err() != nil || !a.looksLikePython(ctx, strconv.Itoa(pid)) {
			continue
		}
		if id, err := a.options.Table.Identify(pid); err == nil {
			found = append(found, id)
		}
	}
	return found
}

func (a *Attacher) looksLikePython(ctx context.Context, pid string) bool {
	if executable, err := os.Readlink(filepath.Join(a.options.Proc, pid, "exe")); err == nil {
		return isPythonName(base(strings.TrimSuffix(executable, " (deleted)")))
	}
	command, err := readProc(ctx, 4<<10, a.options.Proc, pid, "cmdline")
	first, _, _ := strings.Cut(command, "\x00")
	return err == nil && isPythonName(base(first))
}
