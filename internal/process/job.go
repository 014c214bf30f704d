package process

import "strings"

// jobOf finds the job in /proc/PID/cgroup, lines of "hierarchy:controllers:path": one per hierarchy
// under cgroup v1 and a single one under v2. A scheduler wins over the container that it runs in, a
// pod over its container, and any of them over systemd's service:
//
//	slurm        …/slurm/uid_1000/job_88123/step_0          …/slurmstepd.scope/job_88123/step_0
//	             …/slurmstepd.scope/sEKNKTV3WPV500/step_0   Slurm's unique ID; slurmJobs finds the number
//	pbs          …/pbs_jobs.service/jobid/<job>.<server>    …/pbspro.slice/pbspro-<job>.<server>.slice
//	lsf          …/lsf/<cluster>/job.<job>.<pid>.<time>
//	oar          …/oar/<user>_<job>                         …/oar-u1000.slice/oar-u1000-j<job>.slice
//	htcondor     …/htcondor/condor_<directory>_slot1_1@node a slot, which has one job at a time
//	kubernetes   …/kubepods/burstable/pod<uid>/<id>          …-pod<uid with _>.slice/cri-containerd-<id>.scope
//	ecs          …/ecs/<task>/<id>                          …/ecstasks-<task>.slice/docker-<id>.scope
//	nomad        …/nomad/<allocation>.<task>                …/nomad.slice/…/<allocation>.<task>.scope
//	docker       …/docker/<id>                               …/docker-<id>.scope
//	podman       …/libpod_parent/libpod-<id>                 …/libpod-<id>.scope
//	             …/libpod-payload-<id>, which is not below a service
//	containerd   …/nerdctl-<id>.scope                       …/<any>/<id>
//	lxc          …/lxc/<name>                               …/lxc.payload.<name>: LXC's, Incus's and LXD's
//	service      …/system.slice/ollama.service
//
// A login session, which is a scope, and systemd for a user (user@1000.service) are not jobs: they
// only say whose the process is. Below user@1000.service users make cgroups of any name, and
// schedulers make none. The ID of a pod is its uid here; readFacts replaces it by the pod's name.
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
	case "slurm", "pbs", "lsf", "oar", "htcondor":
		return 4
	case "pod", "ecs", "nomad":
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
	var above place
	for part := range strings.SplitSeq(path, "/") {
		job := above.scheduled(part)
		step, isStep := strings.CutPrefix(part, "step_")
		switch {
		case job.Kind != "":
		case best.Kind == "slurm" && isStep && best.Step == "":
			best.Step = word(step)
		case (best.Kind == "pod" || best.Kind == "ecs") && best.Container == "":
			best.Container = lastID(part)
		default:
			job = container(part, above.parent)
			if payload, ok := strings.CutPrefix(part, "libpod-payload-"); ok && best.Kind == "" { // podman --cgroups=split outside of a service
				job = Job{Kind: "podman", ID: shortID(payload)}
			}
		}
		if job.ID != "" && (rank(job) > rank(best) || job.Kind == "service" && best.Kind == "service" && !strings.HasPrefix(best.ID, "systemd-nspawn@")) {
			best = job
		}
		above.enter(part)
	}
	return best
}

type place struct {
	parent    string
	scheduler string // the last component that names a scheduler
	users     bool   // below a user's systemd
}

func (p *place) enter(part string) {
	p.parent = part
	p.users = p.users || strings.HasPrefix(part, "user@")
	switch root, _, _ := strings.Cut(part, "."); {
	case root == "slurm", strings.HasPrefix(part, "slurm_"), strings.HasSuffix(part, "slurmstepd.scope"):
		p.scheduler = "slurm" // slurmd's name may be in it: "slurm_node7", "node7_slurmstepd.scope"
	case root == "lsf", root == "oar", root == "htcondor", root == "ecs", root == "nomad":
		p.scheduler = root
	case root == "pbs_jobs", root == "pbspro", root == "torque":
		p.scheduler = "pbs"
	}
}

// scheduled reads one component of a path as the job of a scheduler.
func (p *place) scheduled(part string) Job {
	if p.users {
		return Job{}
	}
	if uid := podUID(part); uid != "" {
		return Job{Kind: "pod", ID: uid, Container: lastID(part)}
	}
	if task, ok := strings.CutPrefix(part, "ecstasks-"); ok {
		return Job{Kind: "ecs", ID: taskID(strings.TrimSuffix(task, ".slice"))}
	}
	if _, slot, ok := strings.Cut(part, "_slot"); ok && strings.HasPrefix(part, "condor_") {
		return Job{Kind: "htcondor", ID: slotName("slot" + slot)}
	}
	job := Job{Kind: p.scheduler}
	switch p.scheduler {
	case "slurm":
		number, ok := strings.CutPrefix(part, "job_")
		switch {
		case ok:
			job.ID = digits(number)
		case strings.HasSuffix(p.parent, "slurmstepd.scope") && isSLUID(part):
			job.ID = part
		}
	case "pbs":
		// "pbspro-12.pbs\x2dserver.slice", escaped by systemd.
		name := strings.TrimSuffix(part, ".slice")
		if prefix, ok := strings.CutSuffix(p.parent, ".slice"); ok {
			name = strings.TrimPrefix(name, prefix+"-")
		}
		job.ID = numberAtStart(name)
	case "lsf":
		if name, ok := strings.CutPrefix(part, "job."); ok {
			job.ID = numberAtStart(name)
		}
	case "oar":
		name := strings.TrimSuffix(part, ".slice")
		if at := strings.LastIndexAny(name, "_j"); at >= 0 && (p.parent == "oar" || strings.HasPrefix(name, "oar-u")) {
			job.ID = digits(name[at+1:])
		}
	case "htcondor":
		if p.parent == "htcondor" {
			job.ID = slotName(part)
		}
	case "ecs":
		job.ID = taskID(part)
	case "nomad":
		if len(part) > 36 && part[36] == '.' && taskID(part[:36]) != "" {
			job.ID = part[:8]
		}
	}
	if job.ID == "" {
		return Job{}
	}
	return job
}

// container reads one component of a path as a container ("docker-<id>.scope" from the cgroup driver
// systemd, "<id>" below "docker" from cgroupfs) or as a service.
func container(part, parent string) Job {
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
	if id := shortID(part); id != "" && parent == "docker" {
		return Job{Kind: "docker", ID: id}
	} else if id != "" { // docker --cgroup-parent, nerdctl, crictl: containerd runs it
		return Job{Kind: "containerd", ID: id}
	}
	if payload, ok := strings.CutPrefix(part, "lxc.payload."); (ok || parent == "lxc" || parent == "lxc.payload") && !strings.ContainsFunc(payload, notInName) {
		return Job{Kind: "lxc", ID: payload}
	}
	if unit, ok := strings.CutSuffix(part, ".service"); ok && !strings.HasPrefix(unit, "user@") {
		return Job{Kind: "service", ID: unit}
	}
	return Job{}
}

// lastID returns the short ID at the end of a pod's container: "<id>", "crio-<id>.scope",
// "cri-containerd-<id>.scope", "….slice:cri-containerd:<id>".
func lastID(part string) string {
	part = strings.TrimSuffix(part, ".scope")
	return shortID(part[strings.LastIndexAny(part, "-:")+1:])
}

// shortID returns the twelve digits that docker ps shows of a container's ID, "" if id is not an ID
// (libpod-conmon-…, for example, is podman's own watcher).
func shortID(id string) string {
	if len(id) != 64 || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return id[:12]
}

// podUID finds a pod's uid in "pod<uid>" or "kubepods-burstable-pod<uid with underscores>.slice".
// It returns "" if the component is not a pod's.
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
	if !ok {
		return ""
	}
	return taskID(strings.ReplaceAll(uid, "_", "-"))
}

// taskID returns id if it consists of hexadecimal digits and dashes and has the length of a UUID
// (36), or of the hash of a static pod or an ECS task (32); otherwise "".
func taskID(id string) string {
	if (len(id) != 36 && len(id) != 32) || strings.Trim(id, "0123456789abcdef-") != "" {
		return ""
	}
	return id
}

// isSLUID reports whether name is Slurm's unique ID of a job: "s" and 13 digits of Crockford's base 32.
// Source: print_sluid in https://github.com/SchedMD/slurm/blob/master/src/common/sluid.c
func isSLUID(name string) bool {
	return len(name) == 14 && name[0] == 's' && strings.Trim(name[1:], "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == ""
}

// numberAtStart returns the number of a job, with its index in an array, in "12.server",
// "12[3].server" or systemd's "12\x5b3\x5d.server"; "" if there is none.
func numberAtStart(name string) string {
	name, _, _ = strings.Cut(name, ".")
	number, index, isArray := strings.Cut(strings.NewReplacer(`\x5b`, "[", `\x5d`, "]").Replace(name), "[")
	switch index, closed := strings.CutSuffix(index, "]"); {
	case !isArray:
		return digits(number)
	case digits(number) == "" || !closed || digits(index) == "":
		return ""
	default:
		return number + "[" + index + "]"
	}
}

// slotName returns the name of an HTCondor slot in "slot1_1@node", "" if there is none.
func slotName(part string) string {
	name, _, _ := strings.Cut(part, "@")
	number, ok := strings.CutPrefix(name, "slot")
	if !ok || number == "" || strings.Trim(number, "0123456789_") != "" {
		return ""
	}
	return name
}

// notInName reports whether a character cannot be in the name of an LXC container, which is
// a host name, or of a container in an Incus project ("project_name").
func notInName(r rune) bool { return notInHostname(r) && r != '_' }

// digits returns the decimal number that text is, or "".
func digits(text string) string {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return ""
	}
	return text
}

// word returns a step's name: "0", "batch", "extern", "interactive", "0+1" in a heterogeneous job;
// "" if text is not a name.
func word(text string) string {
	if strings.Trim(text, "0123456789abcdefghijklmnopqrstuvwxyz+") != "" {
		return ""
	}
	return text
}
