package attach

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// mostThreads is how many threads a debugger may have to stop, one after the
// other: a thousand take it most of a second.
const mostThreads = 5000

// checkThreads asks what would make it dangerous to have a debugger call
// something in it.
func checkThreads(plan *Plan, state *status) {
	switch {
	case state.shadowStack:
		plan.fail("it has shadow stacks, which a debugger's calls break")
	case state.strict:
		plan.fail("it is confined (seccomp) to what it does: another thread would be its end")
	case state.threads > mostThreads:
		plan.fail(fmt.Sprintf("it has %d threads: it would stand still for seconds", state.threads))
	}
}

// frozen reports whether the kernel holds a process with all of its cgroup, as
// docker pause has it: what a debugger calls in it would not come back.
// Source: https://docs.kernel.org/admin-guide/cgroup-v2.html (cgroup.events)
func (a *Attacher) frozen(ctx context.Context, pid int) bool {
	content, err := readProc(ctx, 64<<10, a.options.Proc, strconv.Itoa(pid), "cgroup")
	if err != nil {
		return false
	}
	for line := range strings.Lines(content) {
		fields := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3) // number, controllers, path
		if len(fields) != 3 {
			continue
		}
		var places []string
		switch fields[1] {
		case "":
			places = []string{filepath.Join(fields[2], "cgroup.events"), filepath.Join("unified", fields[2], "cgroup.events")}
		case "freezer":
			places = []string{filepath.Join("freezer", fields[2], "freezer.state")}
		}
		for _, place := range places {
			told, err := readProc(ctx, 4<<10, a.cgroups, place)
			if err == nil && (strings.Contains(told, "frozen 1") || strings.HasPrefix(told, "FR")) {
				return true
			}
		}
	}
	return false
}
