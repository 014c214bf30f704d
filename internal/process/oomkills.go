package process

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// oomKills is how many processes of a cgroup the kernel has killed because its host memory had
// ended. Everybody may read it.
//
// Source: https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files, and
// https://docs.kernel.org/admin-guide/cgroup-v1/memory.html for memory.oom_control
type oomKills struct {
	file  string // "": not known
	count int64
}

// oomKillsIn reads the counts of a process from its /proc/PID/cgroup. In a pod or a Slurm job they
// are those of the whole pod or job, whose cgroups outlive the process's.
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

// now returns the present counts of the file.
func (k oomKills) now() oomKills {
	content, _ := ReadLimited(k.file, statSize) // a file that does not exist counts nothing
	_, after, _ := strings.Cut("\n"+string(content), "\noom_kill ")
	line, _, _ := strings.Cut(after, "\n")
	count, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		return oomKills{}
	}
	return oomKills{k.file, count}
}

// HostMemoryEnded reports whether the kernel has killed a process for want of host memory in the
// cgroup of one that has ended, within the last two minutes of that.
func (t *Table) HostMemoryEnded(id Identity) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.last(id)
	return e != nil && e.killsBefore.file != "" && e.killsBefore.now().count > e.killsBefore.count
}
