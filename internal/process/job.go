package process

import "strings"

// jobOf finds the job in /proc/PID/cgroup, lines of "hierarchy:controllers:path": one
// per hierarchy under cgroup v1 and a single one under v2. The innermost scheduler wins
// over the container that it runs in, a pod over its container, and any of them
// over systemd's service:
//
//	slurm        …/slurm/uid_1000/job_88123/step_0          …/slurmstepd.scope/job_88123/step_0
//	kubernetes   …/kubepods/burstable/pod<uid>/<id>          …-pod<uid with _>.slice/cri-containerd-<id>.scope
//	docker       …/docker/<id>                               …/docker-<id>.scope
//	podman       …/libpod_parent/libpod-<id>                 …/libpod-<id>.scope
//	containerd   …/nerdctl-<id>.scope
//	service      …/system.slice/ollama.service
//
// A login session, which is a scope, and systemd for a user (user@1000.service) are
// no jobs: each of their processes has its user's name.
// The ID of a pod is its uid here; readFacts replaces it by the pod's name.
//
// procfs would be too slow: it makes three times as many system calls.
func jobOf(cgroups string) Job {
	var best Job
	for line := range strings.Lines(cgroups) {
		_, controlled, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		_, path, _ := strings.Cut(controlled, ":")
		if job := jobOfPath(path); rank(job) > rank(best) {
			best = job
		}
	}
	return best
}

// rank orders kinds of job, the most specific highest.
func rank(job Job) int {
	switch job.Kind {
	case "slurm":
		return 4
	case "pod":
		return 3
	case "service":
		return 1
	case "":
		return 0
	default:
		return 2
	}
}

func jobOfPath(path string) Job {
	var best Job
	underSlurm, underDocker := false, false
	for part := range strings.SplitSeq(path, "/") {
		var job Job
		step, isStep := strings.CutPrefix(part, "step_")
		switch {
		case underSlurm && strings.HasPrefix(part, "job_"):
			job = Job{Kind: "slurm", ID: digits(part[len("job_"):])}
		case best.Kind == "slurm" && isStep && best.Step == "":
			best.Step = word(step)
		case podUID(part) != "":
			job = Job{Kind: "pod", ID: podUID(part), Container: lastID(part)}
		case best.Kind == "pod" && best.Container == "":
			best.Container = lastID(part)
		default:
			job = container(part, underDocker)
		}
		if job.ID != "" && (rank(job) > rank(best) || job.Kind == "service" && best.Kind == "service") {
			best = job
		}
		// slurmd under its own name: "slurm", "slurm_node7", "slurmstepd.scope", "node7_slurmstepd.scope".
		underSlurm = underSlurm || part == "slurm" || strings.HasPrefix(part, "slurm_") || strings.HasSuffix(part, "slurmstepd.scope")
		underDocker = part == "docker"
	}
	return best
}

// container reads one component of a path: "docker-<id>.scope" of the
// systemd cgroup driver, or "<id>" below "docker" of the cgroupfs one; or a service.
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
			return Job{Kind: known.kind, ID: shortID(id)}
		}
	}
	if underDocker {
		return Job{Kind: "docker", ID: shortID(part)}
	}
	if unit, ok := strings.CutSuffix(part, ".service"); ok && !strings.HasPrefix(unit, "user@") {
		return Job{Kind: "service", ID: unit}
	}
	return Job{}
}

// lastID is the short ID at the end of a pod's container: "<id>", "crio-<id>.scope",
// "cri-containerd-<id>.scope", "….slice:cri-containerd:<id>".
func lastID(part string) string {
	part = strings.TrimSuffix(part, ".scope")
	return shortID(part[strings.LastIndexAny(part, "-:")+1:])
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

// word is a step's name: "0", "batch", "extern", "interactive"; "" where text is none.
func word(text string) string {
	if strings.Trim(text, "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return text
}
