package process

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// oomKills counts the processes of a cgroup that the kernel has killed for lack of host memory.
// Every user may read the count. Source:
// https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files, and
// https://docs.kernel.org/admin-guide/cgroup-v1/memory.html for memory.oom_control
type oomKills struct {
	file  string // "": unknown
	count int64
}

// oomKillsIn reads the count of a process's cgroup. For a Slurm job, and for a pod under cgroup v2, it
// is the count of the whole job or pod, whose cgroup outlives that of the process.
func oomKillsIn(root string, job Job, cgroups string) oomKills {
	k := oomKills{}
	for line := range strings.Lines(cgroups) {
		hierarchy, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		switch path, _, _ = strings.Cut(path, "/step_"); {
		case strings.Contains(path, ".."): // of another cgroup namespace
		case slices.Contains(strings.Split(controllers, ","), "memory"):
			k.file = root + "/memory" + path + "/memory.oom_control"
		case hierarchy == "0" && k.file == "":
			if job.Kind == "pod" {
				path = filepath.Dir(path)
			}
			k.file = root + path + "/memory.events"
		}
	}
	return k.now()
}

// now returns the file with its present count, or the zero value if there is none.
func (k oomKills) now() oomKills {
	content, _ := ReadLimited(k.file, statSize) // a file that does not exist has no count
	_, after, _ := strings.Cut("\n"+string(content), "\noom_kill ")
	line, _, _ := strings.Cut(after, "\n")
	count, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		return oomKills{}
	}
	return oomKills{k.file, count}
}

// HostMemoryEnded reports whether the kernel has killed a process in the cgroup of an ended
// process, for lack of host memory, at most some two minutes before that process ended.
func (t *Table) HostMemoryEnded(id Identity) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.last(id)
	return e != nil && e.killsBefore.file != "" && e.killsBefore.now().count > e.killsBefore.count
}
