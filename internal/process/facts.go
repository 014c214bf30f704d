package process

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"vramscope/internal/bounded"
	"vramscope/internal/panics"
	"vramscope/internal/quantity"
)

// facts change rarely, for example when the process calls exec or a scheduler moves it. An
// unreadable fact is empty.
type facts struct {
	uid     quantity.Optional[uint32]
	command []string
	job     Job
	hints   Hints
	kills   oomKills
	panic   *panics.Caught // the reader's panic
}

// commandSize is how much of a command line is kept: some have hundreds of KiB.
const commandSize = 4 << 10

// cgroupSize limits what is read of /proc/PID/cgroup: a dozen lines, with paths of up to 4 KiB.
const cgroupSize = 64 << 10

// readFacts reads the facts of a process. It may hang, so callers run it on another goroutine: for
// cmdline the kernel takes the process's memory lock, which a hanging driver call may hold forever,
// and a pod's host name is on the container's file system.
func readFacts(t *Table, pid int) facts {
	var f facts
	var buf [commandSize]byte
	dir := t.directory(pid)
	f.uid = t.owner(dir)
	cgroups, err := ReadProc(dir+"/cgroup", buf[:], cgroupSize)
	if err == nil {
		if f.job = jobOf(string(cgroups)); f.job.Kind == "slurm" {
			f.job = t.slurmJob(f.job, string(cgroups))
		}
		f.kills = oomKillsIn(t.slurm.cgroups, f.job, string(cgroups))
	}
	jobUnread := err != nil || f.job.Kind == "slurm" && isSLUID(f.job.ID)
	f.command = readCommand(dir+"/cmdline", buf[:])
	uid, known := f.uid.Value()
	own := known && int(uid) == os.Geteuid()
	var environment []byte
	err = errUnread
	if own || t.Hints || os.Geteuid() == 0 {
		environment, err = ReadProc(dir+"/environ", buf[:], environmentSize)
	}
	if err == nil {
		f.hints = hintsIn(environment)
	}
	if !t.Hints {
		f.hints = Hints{Rank: f.hints.Rank, MPSMemory: f.hints.MPSMemory, Visible: f.hints.Visible, MPSThreads: f.hints.MPSThreads}
	} else if thread := ncclThread(dir); err == nil && thread != "" && f.hints.Distributed.Or("") == "" {
		f.hints.Distributed = quantity.From(thread, quantity.System)
	}
	f.hints.JobUnread = jobUnread
	switch {
	case f.job.Kind == "pod":
		f.job.ID, f.job.Namespace = podNames(filepath.Join(dir, "root"), f.job.ID, t.hostname)
	case own && err == nil && // another user's process may claim any job
		(f.job.Kind == "slurm" || rank(f.job) <= rank(Job{Kind: "service"})): // else the cgroups say enough
		f.job = jobIn(environment, f.job)
	}
	return f
}

// jobIn adds what an environment says about a job: Slurm's number if Slurm makes no cgroups, and
// Apptainer's image, because Apptainer makes a cgroup only for a container with limits.
func jobIn(environment []byte, job Job) Job {
	variables := map[string]string{}
	for name, value := range Variables(environment) {
		switch name {
		case "SLURM_JOB_ID", "SLURM_STEP_ID", "APPTAINER_NAME", "SINGULARITY_NAME":
			variables[name] = string(value)
		}
	}
	if number := digits(variables["SLURM_JOB_ID"]); number != "" && rank(job) <= rank(Job{Kind: "service"}) {
		job = Job{Kind: "slurm", ID: number, Step: digits(variables["SLURM_STEP_ID"])}
	}
	image := cmp.Or(variables["APPTAINER_NAME"], variables["SINGULARITY_NAME"])
	switch {
	case image == "" || len(image) > 255:
	case job.Kind == "slurm":
		job.Container = image
	case rank(job) <= rank(Job{Kind: "service"}):
		job = Job{Kind: "apptainer", ID: image}
	}
	return job
}

// errUnread stands for a file that was not needed and not read.
var errUnread = errors.New("not read")

// effectiveUID returns the user whose rights a process has: the owner of its directory, /proc/PID.
// The files in it are root's if the process cannot be dumped. Source: task_dump_owner in
// https://github.com/torvalds/linux/blob/master/fs/proc/base.c. Reading the line in /proc/PID/status
// costs four times as much.
func effectiveUID(directory string) quantity.Optional[uint32] {
	var st syscall.Stat_t
	if syscall.Stat(directory, &st) != nil {
		return quantity.Unknown[uint32]()
	}
	return quantity.From(st.Uid, quantity.System)
}

// readCommand reads a command line and splits it at its NULs. A program that has rewritten its title
// has one string and many NULs.
func readCommand(path string, buf []byte) []string {
	n, err := readOnce(path, buf)
	if err != nil {
		return nil // a kernel thread or a zombie has none
	}
	return parseCommand(buf[:n])
}

func parseCommand(line []byte) []string {
	line = bytes.TrimRight(line, "\x00")
	if len(line) == 0 {
		return nil
	}
	return strings.Split(string(line), "\x00")
}

// podNames returns the name and the namespace of a pod, from files of its container. The host name
// is the pod's name in Kubernetes. If the pod is in the host's network and has the host's name, or
// if the name cannot be read, it returns the start of the uid. Source:
// https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
func podNames(root, uid, hostname string) (name, namespace string) {
	name = strings.SplitN(uid, "-", 2)[0]
	dir, err := os.OpenRoot(root)
	if err != nil {
		return name, ""
	}
	defer func() { _ = dir.Close() }()
	if own := nameIn(dir, "etc/hostname"); own != "" && own != hostname {
		name = own
	}
	const account = "run/secrets/kubernetes.io/serviceaccount/namespace"
	// In most images /var/run is a link to /run, and an absolute link would lead outside.
	return name, cmp.Or(nameIn(dir, account), nameIn(dir, "var/"+account))
}

// nameIn returns the name in a container's file, "" if there is none. The container controls the
// file: os.Root refuses a symbolic link that leads outside, and O_NONBLOCK a FIFO that would block.
func nameIn(dir *os.Root, path string) string {
	file, err := dir.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	content, err := bounded.First(file, 256)
	if err != nil {
		return ""
	}
	return parseHostname(content)
}

// parseHostname returns the name in the content of /etc/hostname, "" if it is not a host name.
func parseHostname(content []byte) string {
	name := strings.TrimSpace(string(content))
	if strings.ContainsFunc(name, notInHostname) {
		return ""
	}
	return name
}

func notInHostname(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.'
}

// Namespace returns the inode of a process's pid namespace, 0 if it may not be read. The
// process is a pid, or "self".
func Namespace(root, process string) uint64 {
	var link [64]byte
	n, err := unix.Readlink(root+"/"+process+"/ns/pid", link[:])
	if err != nil {
		return 0
	}
	return parseNamespace(string(link[:n]))
}

// parseNamespace returns the inode in "pid:[4026531836]".
func parseNamespace(link string) uint64 {
	number, ok := strings.CutPrefix(strings.TrimSuffix(link, "]"), "pid:[")
	inode, err := strconv.ParseUint(number, 10, 64)
	if !ok || err != nil {
		return 0
	}
	return inode
}
