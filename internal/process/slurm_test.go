package process

import (
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestSlurmJobByItsStepd: if a job's cgroup is named by its SLUID, root's slurmstepd gives the
// job's number. Nothing that a user can write counts.
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
			table.slurm.scontrol = func(string) slurmAnswer { return slurmAnswer{} }
			directory := filepath.Join("cgroups", job)
			tree.file(filepath.Join(directory, "step_0", "slurm", "cgroup.procs"), "")
			tree.file(filepath.Join(directory, "step_0", tc.in, "cgroup.procs"), "400\n")
			tree.uids.Store(filepath.Join(tree.root, directory), uint32(tc.owner))
			tree.uids.Store(filepath.Join(tree.root, directory, "step_0", "slurm"), uint32(tc.slurm))
			if got := infos(table, at(0), []int{500})[500].Job.String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			// The number is still known when the step has ended.
			tree.remove(400, "cmdline")
			tree.add(501, "eval", 1000)
			tree.write(501, "cgroup", "0::"+job+"/step_1/user/task_0\n")
			if got := infos(table, at(1), []int{501})[501].Job.String(); got != tc.want {
				t.Errorf("later got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestSlurmJobMadeByAUser: a directory with a job's name is a job only if it belongs to root.
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

// TestScontrolIsAskedOnce: if no slurmstepd can be read, scontrol is asked for the job's number, on
// another goroutine, and only once.
func TestScontrolIsAskedOnce(t *testing.T) {
	tree := newTree(t)
	table := tree.table()
	table.slurm.cgroups = tree.root
	asked, answer := make(chan string, 10), make(chan slurmAnswer)
	table.slurm.scontrol = func(id string) slurmAnswer { asked <- id; return <-answer }
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
	answer <- slurmAnswer{number: "88123"}
	for pid := 503; jobOfNew(pid) != "slurm 88123"; pid++ {
		if time.Sleep(time.Millisecond); pid > 5000 {
			t.Fatal("its answer is not taken")
		}
	}
	if got := infos(table, at(1), []int{500})[500].Job.String(); got != "slurm 88123" {
		t.Errorf("a process that was read before has the name %q", got)
	}
	if first := <-asked; first != "sEKNKTV3WPV500" {
		t.Errorf("asked for %q", first)
	}
	// scontrol is asked for the account, by the job's number, when the account is wanted again.
	jobOfNew(5001)
	jobOfNew(5002)
	answer <- slurmAnswer{number: "88123", account: "physics"}
	for pid := 5003; ; pid++ {
		tree.add(pid, "train"+strconv.Itoa(pid), 1000)
		tree.write(pid, "cgroup", "0::/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0/user/task_0\n")
		job := infos(table, at(0), []int{pid})[pid].Job
		if job.Account == "physics" {
			break
		}
		if time.Sleep(time.Millisecond); pid > 9000 {
			t.Fatalf("its account is not taken: %+v", job)
		}
	}
	if second := <-asked; second != "88123" || len(asked) != 0 {
		t.Errorf("asked for %q, and %d times more", second, len(asked))
	}
}

// TestSlurmsAnswer: text that a user wrote is not taken for Slurm's.
func TestSlurmsAnswer(t *testing.T) {
	const array = `{"jobs": [{"job_id": 88122, "account": "other"}, {"job_id": 88123, "name": "x\", \"account\": \"root\" Account=root", "account": "physics", "comment": "\n   Account=root"}]}`
	for _, c := range []struct {
		output, id string
		want       slurmAnswer
	}{
		{`{"jobs": [{"job_id": 7, "user_id": 1000, "gres_detail": ["gpu:2(IDX:0-1)", "gpu:2(IDX:0-1)"]}]}`, "7", slurmAnswer{number: "7", uid: 1000, gpus: []int{0, 1}}},
		{`{"jobs": [{"job_id": 7, "user_id": 1000, "gres_detail": ["gpu:2(IDX:0-1)", "gpu:2(IDX:2-3)"]}]}`, "7", slurmAnswer{number: "7"}}, // this may be either of the job's two nodes
		{`{"jobs": [{"job_id": 7, "gres_detail": ["gpu:2(IDX:0-1)"]}]}`, "7", slurmAnswer{number: "7"}},                                    // the job's user is unknown
		{array, "88123", slurmAnswer{number: "88123", account: "physics"}},
		{array, "88122", slurmAnswer{number: "88122", account: "other"}},
		{array, "1", slurmAnswer{}},
		{`{"jobs": [{"job_id": 7}]}`, "sEKNKTV3WPV500", slurmAnswer{number: "7"}},
		{`{"jobs": [{"job_id": -7}]}`, "sEKNKTV3WPV500", slurmAnswer{}},
		{`{"jobs": []}`, "7", slurmAnswer{}},
		{"slurm_load_jobs error: Invalid job id specified\n", "7", slurmAnswer{}},
		{"", "7", slurmAnswer{}},
	} {
		if got := parseSlurmJob([]byte(c.output), c.id); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s of %s: %+v", c.id, c.output, got)
		}
	}
}

// TestSlurmsRecordedAnswer reads the answer of Debian's Slurm 24.11.5 (data_parser/v0.0.42) about a
// job with GPUs and a GRES of the site. The job's name is x", "account": "root. The parser of
// Slurm 26.05, v0.0.46, has the same types: src/plugins/data_parser/v0.0.46/parsers.c, JOB_INFO.
func TestSlurmsRecordedAnswer(t *testing.T) {
	output, err := os.ReadFile("testdata/slurm/24.11.5.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"1", "sEKNKTV3WPV500"} {
		if got, want := parseSlurmJob(output, id), (slurmAnswer{number: "1", account: "physics", uid: 1000, gpus: []int{0, 1}}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
	}
}

// TestScontrolIsAsked replaces scontrol by a script.
func TestScontrolIsAsked(t *testing.T) {
	directory := t.TempDir()
	script := "#!/bin/sh\n[ \"$*\" = '--json show job 88123' ] && echo '{\"jobs\": [{\"job_id\": 88123, \"account\": \"physics\"}]}'\n"
	if err := os.WriteFile(filepath.Join(directory, "scontrol"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", directory+":"+os.Getenv("PATH"))
	if got := askScontrol("88123"); !reflect.DeepEqual(got, slurmAnswer{number: "88123", account: "physics"}) {
		t.Errorf("%+v", got)
	}
	t.Setenv("PATH", t.TempDir())
	if got := askScontrol("88123"); !reflect.DeepEqual(got, slurmAnswer{}) {
		t.Errorf("without scontrol: %+v", got)
	}
}
