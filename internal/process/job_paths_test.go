package process

import (
	"strings"
	"testing"
)

// Sources of the paths: sluid.c, cgroup_v2.c and cgroup.conf(5) of Slurm; OAR's configuration;
// client/lib/cgroupslib of Nomad; excerpts of OpenPBS's tests, HTCondor's manual and the ECS agent.
// The paths of LSF, of PBS below pbs_jobs.service and of OAR's slices are from other projects' code.
func TestJobOfDocumentedPaths(t *testing.T) {
	const (
		container = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
		uid       = "5d3c3f9e-8a1b-4c2d-9e3f-0a1b2c3d4e5f"
		task      = "e95a40efbde84cbc8600660a109ec194"
		user      = "/user.slice/user-1000.slice/user@1000.service"
	)
	for _, tc := range []struct{ path, want string }{
		{"/slurm/uid_1000/job_88123/step_0", "slurm 88123, step 0"},
		{"/slurm/uid_1000/job_88123/step_0/task_3", "slurm 88123, step 0"},
		{"/slurm/uid_0/job_7/step_batch/task_0", "slurm 7, step batch"},
		{"/slurm/uid_1000/job_7/step_extern", "slurm 7, step extern"},
		{"/slurm_node7/uid_1000/job_88123/step_1", "slurm 88123, step 1"},
		{"/slurm/uid_1000/job_88123/step_0+1/task_0", "slurm 88123, step 0+1"},
		{"/slurm/uid_1000/job_88123", "slurm 88123"},
		{"/system.slice/slurmstepd.scope/job_88123/step_0/user/task_0", "slurm 88123, step 0"},
		{"/system.slice/slurmstepd.scope/job_88123/step_batch/slurm", "slurm 88123, step batch"},
		{"/system.slice/slurmstepd.scope/job_88123/step_interactive/user/task_special", "slurm 88123, step interactive"},
		{"/system.slice/node7_slurmstepd.scope/job_88123/step_0/user/task_0", "slurm 88123, step 0"},
		{"/hpc.slice/slurmstepd.scope/job_88123/step_0/user/task_0", "slurm 88123, step 0"},
		{"/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0/user/task_0", "slurm sEKNKTV3WPV500, step 0"},
		{"/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_batch/user/task_special", "slurm s5K1KKYAYG5D00, step batch"},
		{"/system.slice/slurmstepd.scope/sFNDM35NQ39R00/step_extern/user/task_special", "slurm sFNDM35NQ39R00, step extern"},
		{"/system.slice/node7_slurmstepd.scope/sEKNKTV3WPV500/step_0/user/task_0", "slurm sEKNKTV3WPV500, step 0"},
		{"/hpc.slice/hpc-gpu.slice/slurmstepd.scope/sEKNKTV3WPV500", "slurm sEKNKTV3WPV500"},
		{"/docker/" + container + "/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0/user/task_0", "slurm sEKNKTV3WPV500, step 0"},
		{"/system.slice/slurmstepd.scope/system", ""},
		{"/system.slice/slurmd.service", "service slurmd"},

		{"/pbs_jobs.service/jobid/2404743.opbs", "pbs 2404743"},
		{"/pbs_jobs.service/jobid/12345.gadi-pbs", "pbs 12345"},
		{"/pbs_jobs.service/jobid/12[3].server", "pbs 12[3]"},
		{"/pbs_jobs.service/jobs/2404743.opbs", "pbs 2404743"},
		{"/pbs_jobs.service/jobs/2404743.opbs/user", "pbs 2404743"},
		{"/pbs_jobs.service/jobs/12[3].server", "pbs 12[3]"},
		{"/pbspro.service/jobid/12.server", "pbs 12"},
		{"/pbspro/12.server", "pbs 12"},
		{`/pbspro.slice/pbspro-12.pbs\x2dserver.slice`, "pbs 12"},
		{`/pbspro.slice/pbspro-12\x5b3\x5d.server.slice`, "pbs 12[3]"},
		{"/torque/8845236.nyx.engin.umich.edu", "pbs 8845236"},
		{"/system.slice/pbs.service", "service pbs"},

		{"/lsf/cluster1/job.513.4382.1459455623", "lsf 513"},
		{"/lsf/cluster1/job.513.4382.1459455623/task.1", "lsf 513"},
		{"/lsf/cluster1/job.513[2].4382.1459455623", "lsf 513[2]"},

		{"/oar/alice_12345", "oar 12345"},
		{"/oar/alice_b_12345", "oar 12345"},
		{"/oar.slice/oar-u1000.slice/oar-u1000-j45670.slice/oar-u1000-j45670-s1.scope", "oar 45670"},
		{"/oar.slice/oar-u1000.scope/oar-u1000-j123456", "oar 123456"},
		{"/oardocker/node1/oar/alice_12345", "oar 12345"},

		{"/htcondor/condor_var_lib_condor_execute_slot1", "htcondor slot1"},
		{"/htcondor/condor_var_lib_condor_execute_slot1_2@node7.example.org", "htcondor slot1_2"},
		{"/system.slice/htcondor/condor_var_lib_condor_execute_slot1_23@node7", "htcondor slot1_23"},
		{"/system.slice/condor.service/condor_var_lib_condor_execute_slot1_1@node7", "htcondor slot1_1"},
		{"/system.slice/condor.service/htcondor/condor_scratch_slot2@node7", "htcondor slot2"},
		{"/htcondor/slot1_1@node7", "htcondor slot1_1"},

		{"/lxc/train", "lxc train"},
		{"/lxc/101/ns/system.slice/cron.service", "lxc 101"},
		{"/lxc.payload/train", "lxc train"},
		{"/lxc.payload.train", "lxc train"},
		{"/lxc.payload.team_train/system.slice/vllm.service", "lxc team_train"},
		{"/lxc.monitor.train", ""},
		{"/lxc.monitor/train", ""},
		{"/system.slice/snap.lxd.daemon.service/lxc.payload.train/init.scope", "lxc train"},
		{"/lxc.payload.train/user.slice/user-1000.slice/session-1.scope", "lxc train"},

		{"/nomad/" + uid + ".train", "nomad 5d3c3f9e"},
		{"/nomad/share/" + uid + ".train", "nomad 5d3c3f9e"},
		{"/nomad.slice/" + uid + ".train.scope", "nomad 5d3c3f9e"},
		{"/nomad.slice/share.slice/" + uid + ".train.scope", "nomad 5d3c3f9e"},
		{"/nomad.slice/reserve.slice/" + uid + ".train.v2.scope", "nomad 5d3c3f9e"},
		{"/nomad.slice/share.slice/docker-" + container + ".scope", "docker 0123456789ab"},

		{"/ecs/" + task + "/" + container, "ecs " + task + ", container 0123456789ab"},
		{"/ecs/" + uid + "/" + container, "ecs " + uid + ", container 0123456789ab"},
		{"/ecs/cluster/" + task + "/" + container, "ecs " + task + ", container 0123456789ab"},
		{"/ecs/" + task + "/" + task + "-1234567890", "ecs " + task},
		{"/ecstasks.slice/ecstasks-" + task + ".slice/docker-" + container + ".scope", "ecs " + task + ", container 0123456789ab"},

		{"/kubepods/besteffort/pod" + uid + "/" + container, "pod " + uid + ", container 0123456789ab"},
		{"/kubepods.slice/kubepods-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice/crio-" + container + ".scope", "pod " + uid + ", container 0123456789ab"},
		{"/docker/" + container, "docker 0123456789ab"},
		{user + "/user.slice/docker-" + container + ".scope", "docker 0123456789ab"},
		{"/machine.slice/libpod-" + container + ".scope/container", "podman 0123456789ab"},
		{"/system.slice/nerdctl-" + container + ".scope", "containerd 0123456789ab"},
		{"/system.slice/vllm.service", "service vllm"},

		// Sources: runc's and crun's cgroup managers, podman-run(1) (--cgroups), dockerd(8) (--cgroup-parent),
		// kubelet's --cgroup-root, cri-o's conmon_cgroup, Apptainer's internal/pkg/cgroups, systemd.special(7),
		// systemd-nspawn(1), systemd-run(1), Flux's sdexec, Slurm's prolog and CgroupSlice.
		{"/gpu-jobs/" + container, "containerd 0123456789ab"}, // docker run --cgroup-parent gpu-jobs, cgroupfs
		{"/default/" + container, "containerd 0123456789ab"},  // nerdctl, cgroupfs
		{"/k8s.io/" + container, "containerd 0123456789ab"},   // crictl run
		{"/../" + container, "containerd 0123456789ab"},       // a neighbour, as seen from a container
		{"/../docker-" + container + ".scope", "docker 0123456789ab"},
		{"/../../pod" + uid + "/" + container, "pod " + uid + ", container 0123456789ab"},
		{"/batch.slice/docker-" + container + ".scope", "docker 0123456789ab"},
		{"/mycluster.slice/mycluster-kubepods.slice/mycluster-kubepods-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice/cri-containerd-" + container + ".scope", "pod " + uid + ", container 0123456789ab"},
		{"/kubelet/kubepods/burstable/pod" + uid + "/" + container, "pod " + uid + ", container 0123456789ab"}, // kind
		{"/kubepods/besteffort/pod" + uid + "/crio-" + container, "pod " + uid + ", container 0123456789ab"},
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice/crio-" + container + ".scope/container", "pod " + uid + ", container 0123456789ab"},
		{"/system.slice/containerd.service/kubepods-besteffort-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice:cri-containerd:" + container, "pod " + uid + ", container 0123456789ab"},
		{"/system.slice/vllm.service/libpod-payload-" + container, "service vllm"}, // a quadlet
		{user + "/app.slice/vllm.service/libpod-payload-" + container, "service vllm"},
		{"/user.slice/user-1000.slice/session-3.scope/libpod-payload-" + container, "podman 0123456789ab"}, // --cgroups=split by hand
		{"/machine.slice/machine-libpod_pod_" + container + ".slice/libpod-" + container + ".scope", "podman 0123456789ab"},
		{user + "/user.slice/libpod-" + container + ".scope/container", "podman 0123456789ab"},
		{user + "/user.slice/nerdctl-" + container + ".scope", "containerd 0123456789ab"},
		{user + "/user.slice/apptainer-4711.scope", ""},
		{"/system.slice/apptainer-4711.scope", ""},
		{"/apptainer/4711", ""},
		{"/singularity/4711", ""},                                // known only by APPTAINER_NAME
		{user + "/app.slice/run-u17.service", "service run-u17"}, // systemd-run --user
		{user + "/app.slice/run-r0123456789abcdef0123456789abcdef.scope", ""},
		{"/system.slice/run-p812-i4711.service", "service run-p812-i4711"},
		{"/system.slice/system-vllm.slice/vllm@0.service", "service vllm@0"},
		{"/system.slice/jupyter-alice-singleuser.service", "service jupyter-alice-singleuser"},
		{"/machine.slice/systemd-nspawn@a.service/payload/system.slice/vllm.service", "service systemd-nspawn@a"}, // another nspawn container may have a service of the same name
		{"/user.slice/user-989.slice/user@989.service/app.slice/imp-shell-0-f2Bc.service", "service imp-shell-0-f2Bc"},
		{"/ai.slice/slurmstepd.scope/job_88123/step_0/user/task_0", "slurm 88123, step 0"},
		{"/kubepods.slice/kubepods-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice/cri-containerd-" + container + ".scope/system.slice/slurmstepd.scope/job_5/step_0/user/task_0", "slurm 5, step 0"}, // Slurm in a pod (Slinky)
		{"/lsf/cluster1/job.513.4382.1459455623/" + container, "lsf 513"}, // a container that LSF runs with Docker
		{"/pbs_jobs.service/jobid/12.server/" + container, "pbs 12"},
		{"/system.slice/condor.service/condor_var_lib_condor_execute_slot1_1@node7/docker-" + container + ".scope", "htcondor slot1_1"},
		{"/lxc.payload.train/docker/" + container, "lxc train"},
		{"/docker/" + container + "/docker/" + strings.Repeat("f", 64), "docker 0123456789ab"},

		// Paths that a user has made.
		{user + "/app.slice/slurmstepd.scope/job_1/step_0", ""},
		{user + "/app.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0", ""},
		{user + "/app.slice/pbs_jobs.service/jobid/12.server", "service pbs_jobs"},
		{user + "/app.slice/lsf/cluster1/job.513.4382.1", ""},
		{user + "/app.slice/oar/alice_12345", ""},
		{user + "/app.slice/htcondor/condor_x_slot1", ""},
		{user + "/app.slice/k3s-rootless.service/kubepods/pod" + uid + "/" + container, "containerd 0123456789ab"}, // not a pod
		{user + "/app.slice/ecs/" + task + "/" + container, "containerd 0123456789ab"},
		{user + "/app.slice/nomad/" + uid + ".train", ""},
		// Paths that resemble a scheduler's but do not have its form.
		{"/system.slice/slurmstepd.scope/sEKNKTV3WPV50/step_0", ""},
		{"/system.slice/slurmstepd.scope/sEKNKTV3WPV50I/step_0", ""},
		{"/system.slice/slurmstepd.scope/x/sEKNKTV3WPV500/step_0", ""},
		{"/sEKNKTV3WPV500/step_0", ""},
		{"/pbs_jobs.service/jobid/12[].server", "service pbs_jobs"},
		{"/pbs_jobs.service/jobid/x.server", "service pbs_jobs"},
		{"/lsf/cluster1/job.x.1", ""},
		{"/oar/alice", ""},
		{"/condor_slot", ""},
		{"/htcondor/slot", ""},
		{"/nomad/" + uid, ""},
		{"/ecs/cluster", ""},
	} {
		job := jobOf("0::" + tc.path + "\n")
		if got := strings.Join(append([]string{job.String()}, job.Details()...), ", "); got != tc.want {
			t.Errorf("%s\n got %q, want %q", tc.path, got, tc.want)
		}
	}
}
