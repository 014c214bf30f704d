package attach

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// maxThreads is how many threads a debugger may have to stop. It stops a thousand
// in somewhat less than a second.
const maxThreads = 5000

// checkThreads checks what would make a debugger's calls dangerous.
func checkThreads(plan *Plan, state *status) {
	switch {
	case state.shadowStack:
		plan.fail("it has shadow stacks, which a debugger's calls break")
	case state.threads > maxThreads:
		plan.fail(fmt.Sprintf("it has %d threads: stopping them takes seconds", state.threads))
	}
}

// frozen reports whether the process's cgroup is frozen, as by docker pause: a
// debugger's calls would not return.
// Source: https://docs.kernel.org/admin-guide/cgroup-v2.html (cgroup.events)
func (a *Attacher) frozen(ctx context.Context, pid int) bool {
	content, err := readProc(ctx, 64<<10, a.options.Proc, strconv.Itoa(pid), "cgroup")
	if err != nil {
		return false
	}
	for _, path := range freezers(content) {
		state, err := readProc(ctx, 4<<10, a.cgroups, path)
		if err == nil && (strings.Contains(state, "frozen 1") || strings.HasPrefix(state, "FR")) {
			return true
		}
	}
	return false
}

// freezers are the files, below the mount point of cgroups, with the state of a
// process's cgroups. Its path begins with /.. where it is outside this program's
// cgroup namespace; no file is outside the mount point.
func freezers(content string) []string {
	var files []string
	for line := range strings.Lines(content) {
		fields := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3) // number, controllers, path
		if len(fields) != 3 {
			continue
		}
		path := filepath.Join("/", fields[2])
		switch fields[1] {
		case "":
			files = append(files, filepath.Join(path, "cgroup.events"), filepath.Join("/unified", path, "cgroup.events"))
		case "freezer":
			files = append(files, filepath.Join("/freezer", path, "freezer.state"))
		}
	}
	return files
}
