package process

import (
	"strings"

	"github.com/prometheus/procfs"
)

// jobOf finds the job in the paths of /proc/PID/cgroup, one per hierarchy
// under cgroup v1 and a single one under v2. The innermost scheduler wins
// over the container that it runs in, and a pod over its container:
//
//	slurm        …/slurm/uid_1000/job_88123/step_0          …/slurmstepd.scope/job_88123/step_0
//	kubernetes   …/kubepods/burstable/pod<uid>/<id>          …-pod<uid with _>.slice/cri-containerd-<id>.scope
//	docker       …/docker/<id>                               …/docker-<id>.scope
//	podman       …/libpod_parent/libpod-<id>                 …/libpod-<id>.scope
//	containerd   …/nerdctl-<id>.scope
//
// systemd's slices and services are no jobs: every process is in one.
// The ID of a pod is its uid here; readFacts replaces it by the pod's name.
func jobOf(cgroups []procfs.Cgroup) Job {
	var best Job
	for _, cgroup := range cgroups {
		if job := jobOfPath(cgroup.Path); rank(job) > rank(best) {
			best = job
		}
	}
	return best
}

// rank orders kinds of job, the most specific highest.
func rank(job Job) int {
	switch job.Kind {
	case "slurm":
		return 3
	case "pod":
		return 2
	case "":
		return 0
	default:
		return 1
	}
}

func jobOfPath(path string) Job {
	var best Job
	underSlurm, underDocker := false, false
	for part := range strings.SplitSeq(path, "/") {
		var job Job
		switch {
		case underSlurm && strings.HasPrefix(part, "job_"):
			job = Job{"slurm", digits(part[len("job_"):])}
		case podUID(part) != "":
			job = Job{"pod", podUID(part)}
		default:
			job = container(part, underDocker)
		}
		if job.ID != "" && rank(job) > rank(best) {
			best = job
		}
		// slurmd under its own name: "slurm", "slurm_node7", "slurmstepd.scope", "node7_slurmstepd.scope".
		underSlurm = underSlurm || part == "slurm" || strings.HasPrefix(part, "slurm_") || strings.HasSuffix(part, "slurmstepd.scope")
		underDocker = part == "docker"
	}
	return best
}

// container reads one component of a path: "docker-<id>.scope" of the
// systemd cgroup driver, or "<id>" below "docker" of the cgroupfs one.
func container(part string, underDocker bool) Job {
	name, isScope := strings.CutSuffix(part, ".scope")
	for _, known := range []struct{ prefix, kind string }{
		{"docker-", "docker"},
		{"libpod-", "podman"},
		{"nerdctl-", "containerd"},
		{"cri-containerd-", "containerd"},
	} {
		// Podman's cgroupfs driver writes libpod-<id> without the suffix.
		if id, ok := strings.CutPrefix(name, known.prefix); ok && (isScope || known.kind == "podman") {
			return Job{known.kind, shortID(id)}
		}
	}
	if underDocker {
		return Job{"docker", shortID(part)}
	}
	return Job{}
}

// shortID is the twelve digits that docker ps shows of a container's ID, ""
// where id is none (libpod-conmon-…, for one, is podman's own watcher).
func shortID(id string) string {
	if len(id) != 64 || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return id[:12]
}

// podUID finds a pod's uid in "pod<uid>" or "kubepods-burstable-pod<uid with
// underscores>.slice", "" where the component is no pod's.
func podUID(part string) string {
	name, isSlice := strings.CutSuffix(part, ".slice")
	if colon := strings.IndexByte(name, ':'); colon >= 0 {
		// Containerd on a kubelet with the other cgroup driver:
		// "kubepods-burstable-pod<uid>.slice:cri-containerd:<id>".
		name, isSlice = strings.CutSuffix(name[:colon], ".slice")
	}
	if isSlice {
		at := strings.LastIndex(name, "-pod")
		if at < 0 || !strings.Contains(name, "kubepods") {
			return ""
		}
		name = name[at+1:]
	}
	uid, ok := strings.CutPrefix(name, "pod")
	uid = strings.ReplaceAll(uid, "_", "-")
	// 36 digits and dashes, or 32 digits for a static pod, whose uid is a hash.
	if !ok || (len(uid) != 36 && len(uid) != 32) || strings.Trim(uid, "0123456789abcdef-") != "" {
		return ""
	}
	return uid
}

// digits is the decimal number that text is, or "".
func digits(text string) string {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return ""
	}
	return text
}
