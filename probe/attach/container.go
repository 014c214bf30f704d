package attach

import (
	"os"
	"path/filepath"
	"strconv"

	"vramscope/internal/process"
)

// checkContainer checks that the process is in this program's container. Its mounts may differ, as
// those of a service with a private /tmp do.
func (a *Attacher) checkContainer(plan *Plan, info *process.Info) {
	reason := a.apart(info)
	if dir := filepath.Join(a.proc, strconv.Itoa(info.Identity.PID)); reason == "" && !a.shares("mnt", dir) {
		plan.root = filepath.Join(dir, "root")
	}
	switch {
	case plan.root != "":
		plan.pass("same container, with mounts of its own")
	case reason == "":
		plan.pass("same container")
	case reason != cannotTell || plan.allows(): // usually another user's process, which is refused already
		plan.fail(reason)
	}
}

const cannotTell = "whether it is in this container is unknown"

// apart returns how the process's namespaces or root directory differ from this program's, cannotTell,
// or "" if they do not differ. Different mounts below the same root directory do not count.
func (a *Attacher) apart(info *process.Info) string {
	its, ours := filepath.Join(a.proc, strconv.Itoa(info.Identity.PID)), filepath.Join(a.proc, "self")
	if _, err := os.Readlink(filepath.Join(its, "ns", "mnt")); err != nil {
		return cannotTell
	}
	a1, err1 := os.Stat(filepath.Join(its, "root") + "/")
	a2, err2 := os.Stat(filepath.Join(ours, "root") + "/")
	sameRoot := err1 == nil && err2 == nil && os.SameFile(a1, a2)
	switch {
	case !a.shares("pid", its), !a.shares("user", its), !sameRoot && !a.shares("mnt", its):
		text := "another container's process"
		if job := info.Job.String(); job != "" {
			text += " (" + job + ")"
		}
		return text + ": run vramscope inside it"
	case !sameRoot:
		return "it has its own root directory (chroot): run vramscope inside it"
	}
	return ""
}

// shares reports whether the process with this directory in /proc is in this program's
// namespace of a kind.
func (a *Attacher) shares(kind, dir string) bool {
	its, err := os.Readlink(filepath.Join(dir, "ns", kind))
	ours, failed := os.Readlink(filepath.Join(a.proc, "self", "ns", kind))
	return err == nil && failed == nil && its == ours
}
