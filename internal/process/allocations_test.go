package process

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestAllocationsAreOfRootsDirectories: scontrol is asked once about a job that it knows, and again
// after the job's cgroup has disappeared and returned, but never about a directory that a user has made.
func TestAllocationsAreOfRootsDirectories(t *testing.T) {
	tree := newTree(t)
	table := tree.table()
	table.slurm.cgroups = filepath.Join(tree.root, "cgroups")
	var asked []string
	table.slurm.scontrol = func(id string) slurmAnswer {
		asked = append(asked, id)
		number, gpus := id, []int{len(asked)}
		switch {
		case id == "3":
			return slurmAnswer{} // unknown
		case isSLUID(id):
			number = "88123"
		}
		return slurmAnswer{number: number, account: "physics", uid: 1000, gpus: gpus}
	}
	add := func(directory string, uid uint32) {
		tree.file(filepath.Join("cgroups", directory, "cgroup.procs"), "")
		tree.uids.Store(filepath.Join(tree.root, "cgroups", directory), uid)
	}
	held := func(second float64) (jobs []string) {
		for _, a := range table.Allocations(at(second), time.Minute) {
			if a.User != "alice" || a.Job.Account != "physics" || len(a.GPUs) != 1 {
				t.Errorf("%+v", a)
			}
			jobs = append(jobs, a.Job.String())
		}
		slices.Sort(jobs)
		return jobs
	}
	add("system.slice/slurmstepd.scope/job_1", 0)
	add("system.slice/node7_slurmstepd.scope/sEKNKTV3WPV500", 0)
	add("devices/slurm_node7/uid_1000/job_2", 0)
	add("system.slice/slurmstepd.scope/job_3", 0)
	add("system.slice/slurmstepd.scope/job_4", 1000) // a directory that a user has made
	add("system.slice/slurmstepd.scope/system", 0)
	add("user.slice/slurmstepd.scope/job_5", 0)
	if got, want := held(0), []string{"slurm 1", "slurm 2", "slurm 88123"}; !slices.Equal(got, want) || len(asked) != 4 {
		t.Errorf("%q after %q, want %q", got, asked, want)
	}
	if held(5); len(asked) != 4 {
		t.Errorf("asked within ten seconds: %q", asked)
	}
	if held(20); len(asked) != 4 {
		t.Errorf("asked again: %q", asked)
	}
	tree.uids.Delete(filepath.Join(tree.root, "cgroups/system.slice/slurmstepd.scope/job_1"))
	if got := held(40); len(got) != 2 {
		t.Errorf("its cgroup is away: %q", got)
	}
	add("system.slice/slurmstepd.scope/job_1", 0)
	if got := held(60); len(got) != 3 || !slices.Equal(asked[4:], []string{"1"}) {
		t.Errorf("it is back: %q after %q", got, asked)
	}
	if held(1000); !slices.Equal(asked[5:], []string{"3"}) { // job 3, which scontrol did not know
		t.Errorf("asked %q", asked[5:])
	}
}

func TestGRES(t *testing.T) {
	for detail, want := range map[string][]int{
		"gpu:h100:2(IDX:0-1)":                {0, 1},
		"gpu:3(IDX:1,4-5)":                   {1, 4, 5},
		"gpu:h100:2(IDX:0-1),gpu:a:1(IDX:2)": {0, 1, 2},
		"gpu:h100:2(IDX:0)":                  nil, // fewer indices than the stated number of GPUs
		"gpu:0(IDX:)":                        nil,
		"gpu:2(IDX:1-0)":                     nil,
		"gpu:h100:1":                         nil,
		"gpu:h100:1(IDX:0":                   nil,
		"gpu:1(IDX:0),shard:2(0/2)":          nil,
		"gpu:p100:1(IDX:3),lscratch(CNT:50)": {3}, // lscratch is a resource of the site
		"lscratch(CNT:50),nic:2(IDX:0-1),gpu:2(IDX:0-1),craynetwork(CNT:1)": {0, 1},
		"lscratch(CNT:50)":                 nil,
		"gpu:1(IDX:0),mps:50(IDX:1)":       nil,
		"mps:100(IDX:0)":                   nil,
		"gpu:1(IDX:99999999999999999999)":  nil,
		"gpu:2147483648(IDX:0-2147483647)": nil,
		"":                                 nil,
	} {
		if got := parseGRES(detail); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, want %v", detail, got, want)
		}
	}
}

// TestLookAtAProcessOfSlurm: Look uses a table of its own, which also knows Slurm's jobs.
func TestLookAtAProcessOfSlurm(t *testing.T) {
	tree := newTree(t)
	tree.add(500, "train", 1000)
	tree.write(500, "cgroup", "5:devices:/slurm/uid_1000/job_7/step_0\n")
	if info, err := tree.table().Look(500); err != nil || info.Job.String() != "slurm 7" {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestAllocationsOfPods: only a kubelet whose socket is root's is believed.
func TestAllocationsOfPods(t *testing.T) {
	tree := newTree(t)
	table := tree.table()
	table.slurm.cgroups, table.slurm.kubelet = filepath.Join(tree.root, "cgroups"), filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", table.slurm.kubelet)
	if err != nil {
		t.Fatal(err)
	}
	var http2 http.Protocols
	http2.SetUnencryptedHTTP2(true)
	server := &http.Server{Protocols: &http2, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = io.WriteString(w, "\x00\x00\x00\x00\x1b\n\x19\n\atrain-0\x12\x02ml\x1a\n\x12\b\n\x01n\x12\x03GPU")
		w.Header().Set("Grpc-Status", "0")
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	if got := table.Allocations(at(0), time.Minute); len(got) != 0 {
		t.Errorf("a user's socket: %+v", got)
	}
	tree.uids.Store(table.slurm.kubelet, uint32(0))
	want := []Allocation{{Job: Job{Kind: "pod", ID: "train-0", Namespace: "ml"}, UUIDs: []string{"GPU"}}}
	if got := table.Allocations(at(20), time.Minute); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	_ = server.Close()
	if got := table.Allocations(at(40), time.Minute); len(got) != 0 {
		t.Errorf("its kubelet has ended: %+v", got)
	}
}
