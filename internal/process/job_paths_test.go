package process

import (
	"strings"
	"testing"
)

// Their sources: sluid.c, cgroup_v2.c and cgroup.conf(5) of Slurm; OAR's configuration;
// client/lib/cgroupslib of Nomad; excerpts of OpenPBS's tests, HTCondor's manual and the ECS
// agent. Those of LSF, PBS below pbs_jobs.service and OAR's slices are from others' code.
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

		// Made by a user.
		{user + "/app.slice/slurmstepd.scope/job_1/step_0", ""},
		{user + "/app.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0", ""},
		{user + "/app.slice/pbs_jobs.service/jobid/12.server", "service pbs_jobs"},
		{user + "/app.slice/lsf/cluster1/job.513.4382.1", ""},
		{user + "/app.slice/oar/alice_12345", ""},
		{user + "/app.slice/htcondor/condor_x_slot1", ""},
		{user + "/app.slice/kubepods/pod" + uid + "/" + container, ""},
		{user + "/app.slice/ecs/" + task + "/" + container, ""},
		{user + "/app.slice/nomad/" + uid + ".train", ""},
		// Like a scheduler's, and not of its form.
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
