package process

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestSlurmJobByItsStepd: the number of a job whose cgroup has its SLUID is what root's
// slurmstepd says; whatever a user can write wins nothing.
func TestSlurmJobByItsStepd(t *testing.T) {
	const sluid, title = "sEKNKTV3WPV500", "slurmstepd: [88123.0]"
	job := "/system.slice/slurmstepd.scope/" + sluid
	for _, tc := range []struct {
		name                string
		title, exe          string
		stepd, owner, slurm int // the users of the process and of the directories
		in                  string
		want                string
	}{
		{"a step", title, "/usr/sbin/slurmstepd", 0, 0, 0, "slurm", "slurm 88123"},
		{"batch", "slurmstepd: [88123.batch]", "/usr/sbin/slurmstepd", 0, 0, 0, "slurm", "slurm 88123"},
		{"stepmgr", "slurmstepd: [88123.extern stepmgr]", "/usr/sbin/slurmstepd", 0, 0, 0, "slurm", "slurm 88123"},
		{"heterogeneous", "slurmstepd: [88123.0+1]", "/usr/sbin/slurmstepd", 0, 0, 0, "slurm", "slurm 88123"},
		{"upgraded", title, "/usr/sbin/slurmstepd (deleted)", 0, 0, 0, "slurm", "slurm 88123"},
		{"link unreadable", title, "", 0, 0, 0, "slurm", "slurm 88123"},
		{"starting", "/usr/sbin/slurmstepd", "/usr/sbin/slurmstepd", 0, 0, 0, "slurm", "slurm " + sluid},
		{"no number", "slurmstepd: [x.0]", "/usr/sbin/slurmstepd", 0, 0, 0, "slurm", "slurm " + sluid},
		{"no step", "slurmstepd: [88123]", "/usr/sbin/slurmstepd", 0, 0, 0, "slurm", "slurm " + sluid},
		{"more than a title", title + " x", "/usr/sbin/slurmstepd", 0, 0, 0, "slurm", "slurm " + sluid},
		{"a user's process", title, "", 1000, 0, 0, "slurm", "slurm " + sluid},
		{"another program of root", title, "/usr/bin/sudo", 0, 0, 0, "slurm", "slurm " + sluid},
		{"among the user's tasks", title, "", 0, 0, 0, "user", "slurm " + sluid},
		{"the user's directory in it", title, "", 0, 0, 1000, "slurm", "slurm " + sluid},
		{"the user's job directory", title, "", 0, 1000, 0, "slurm", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tree := newTree(t)
			tree.add(500, "train", 1000)
			tree.write(500, "cgroup", "0::"+job+"/step_0/user/task_0\n")
			tree.write(500, "environ", "SLURM_JOB_ID=1\x00SLURM_JOBID=1\x00")
			tree.add(400, "slurmstepd", tc.stepd)
			tree.write(400, "cmdline", tc.title+strings.Repeat("\x00", 20))
			if tc.exe != "" {
				tree.link(400, "exe", tc.exe)
			}
			table := tree.table()
			table.slurm.cgroups = filepath.Join(tree.root, "cgroups")
			table.slurm.scontrol = func(string) string { return "" }
			directory := filepath.Join("cgroups", job)
			tree.file(filepath.Join(directory, "step_0", "slurm", "cgroup.procs"), "")
			tree.file(filepath.Join(directory, "step_0", tc.in, "cgroup.procs"), "400\n")
			tree.uids.Store(filepath.Join(tree.root, directory), uint32(tc.owner))
			tree.uids.Store(filepath.Join(tree.root, directory, "step_0", "slurm"), uint32(tc.slurm))
			if got := infos(table, at(0), []int{500})[500].Job.String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			// The number is remembered when the step has ended.
			tree.remove(400, "cmdline")
			tree.add(501, "eval", 1000)
			tree.write(501, "cgroup", "0::"+job+"/step_1/user/task_0\n")
			if got := infos(table, at(1), []int{501})[501].Job.String(); got != tc.want {
				t.Errorf("later got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestSlurmJobMadeByAUser: a numbered directory that is not root's is no job.
func TestSlurmJobMadeByAUser(t *testing.T) {
	for owner, want := range map[int]string{0: "slurm 1", 1000: ""} {
		tree := newTree(t)
		tree.add(500, "train", 1000)
		tree.write(500, "cgroup", "0::/system.slice/alice.service/slurmstepd.scope/job_1/step_0\n")
		table := tree.table()
		table.slurm.cgroups = ""
		tree.uids.Store("/system.slice/alice.service/slurmstepd.scope/job_1", uint32(owner))
		if got := infos(table, at(0), []int{500})[500].Job.String(); got != want {
			t.Errorf("owner %d: %q, want %q", owner, got, want)
		}
	}
}

// TestScontrolIsAskedOnce: where no slurmstepd can be read, scontrol is asked, aside, and once.
func TestScontrolIsAskedOnce(t *testing.T) {
	tree := newTree(t)
	table := tree.table()
	table.slurm.cgroups = tree.root
	asked, answer := make(chan string, 10), make(chan string)
	table.slurm.scontrol = func(sluid string) string { asked <- sluid; return <-answer }
	jobOfNew := func(pid int) string {
		tree.add(pid, "train"+strconv.Itoa(pid), 1000)
		tree.write(pid, "cgroup", "0::/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0/user/task_0\n")
		return infos(table, at(0), []int{pid})[pid].Job.String()
	}
	for pid := 500; pid < 503; pid++ {
		if got := jobOfNew(pid); got != "slurm sEKNKTV3WPV500" {
			t.Errorf("got %q", got)
		}
	}
	answer <- "88123"
	for pid := 503; jobOfNew(pid) != "slurm 88123"; pid++ {
		if time.Sleep(time.Millisecond); pid > 5000 {
			t.Fatal("its answer is not taken")
		}
	}
	if len(asked) != 1 {
		t.Errorf("asked %d times", len(asked))
	}
	for output, want := range map[string]string{
		"JobId=88123 JobName=JobId=1 UserId=alice(1000)\n": "88123", "slurm_load_jobs error: Invalid job id specified\n": "",
		"": "", "JobName=x JobId=1": "", "JobId=88123": "88123", "JobId=x ": "",
	} {
		if got := parseJobID(output); got != want {
			t.Errorf("%q: %q", output, got)
		}
	}
}
