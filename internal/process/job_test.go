package process

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestJobOfRecordedCgroups reads the files of testdata/cgroup. Most are named after the scheduler or
// runtime under which they were recorded.
func TestJobOfRecordedCgroups(t *testing.T) {
	for name, want := range map[string]string{
		"slurm_v1":              "slurm 88123, step 0",
		"slurm_v1_interactive":  "slurm 280678, step interactive",
		"slurm_v2":              "slurm 88123, step 0",
		"slurm_v2_batch":        "slurm 1392969, step batch",
		"slurm_v2_named_node":   "slurm 4711, step batch",
		"slurm_in_docker":       "slurm 12, step 0",
		"docker_v1":             "docker 4f9a1c2d3e4b",
		"docker_v2":             "docker 4f9a1c2d3e4b",
		"docker_rootless":       "docker 4f9a1c2d3e4b",
		"podman_v2":             "podman 0123456789ab",
		"podman_rootless":       "podman 0123456789ab",
		"podman_cgroupfs":       "podman 0123456789ab",
		"podman_conmon":         "",
		"nerdctl":               "containerd fedcba987654",
		"kubepods_v1":           "pod 5d3c3f9e, container 0123456789ab",
		"kubepods_v2_systemd":   "pod 5d3c3f9e, container 0123456789ab",
		"kubepods_crio":         "pod 5d3c3f9e, container 0123456789ab",
		"kubepods_static":       "pod 9f86d081884c7d659a2feaa0c55ad015, container 0123456789ab",
		"kubepods_mixed_driver": "pod 5d3c3f9e, container 0123456789ab",
		"kind":                  "pod 5d3c3f9e, container 0123456789ab",
		"systemd_service":       "service vllm",
		"systemd_service_v1":    "service ollama",
		"user_service":          "service jupyter",
		"apptainer_v2":          "",
		"user_session":          "",
		"cgroup_namespace":      "",
		"malformed":             "",
		"impostor":              "",
	} {
		t.Run(name, func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join("testdata", "cgroup", name))
			if err != nil {
				t.Fatal(err)
			}
			tree := newTree(t)
			tree.add(500, "train", 1000)
			tree.write(500, "cgroup", string(content))
			table := tree.table()
			info := infos(table, at(0), []int{500})[500]
			if got := strings.Join(append([]string{info.Job.String()}, info.Job.Details()...), ", "); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestJobOfEnvironment: facts that cgroups do not show are read from the environment, but only for
// this user's own processes: another user's process may claim anything.
func TestJobOfEnvironment(t *testing.T) {
	for _, tc := range []struct {
		uid                       int
		cgroup, environment, want string
	}{
		{os.Geteuid(), "systemd_service", "SLURM_JOB_ID=7\x00SLURM_STEP_ID=2\x00", "slurm 7, step 2"},
		{os.Geteuid(), "slurm_v2", "SLURM_JOB_ID=7\x00", "slurm 88123, step 0"},
		{os.Geteuid(), "user_session", "SLURM_JOB_ID=7; rm\x00SLURM_STEP_ID=2\x00", ""},
		{os.Geteuid(), "user_session", "APPTAINER_NAME=torch.sif\x00", "apptainer torch.sif"},
		{os.Geteuid(), "user_session", "SINGULARITY_NAME=torch.sif\x00SLURM_JOB_ID=7\x00", "slurm 7, container torch.sif"},
		{os.Geteuid(), "slurm_v1", "APPTAINER_NAME=torch.sif\x00", "slurm 88123, step 0, container torch.sif"},
		{os.Geteuid(), "docker_v2", "SLURM_JOB_ID=7\x00APPTAINER_NAME=x\x00", "docker 4f9a1c2d3e4b"},
		{os.Geteuid() + 1, "user_session", "SLURM_JOB_ID=7\x00", ""},
	} {
		cgroup, err := os.ReadFile(filepath.Join("testdata", "cgroup", tc.cgroup))
		if err != nil {
			t.Fatal(err)
		}
		tree := newTree(t)
		tree.add(500, "train", tc.uid)
		tree.write(500, "cgroup", string(cgroup))
		tree.write(500, "environ", tc.environment)
		job := infos(tree.table(), at(0), []int{500})[500].Job
		if got := strings.Join(append([]string{job.String()}, job.Details()...), ", "); got != tc.want {
			t.Errorf("%s, %q: got %q, want %q", tc.cgroup, tc.environment, got, tc.want)
		}
	}
}

func TestPodHasItsNamespace(t *testing.T) {
	cgroup, err := os.ReadFile("testdata/cgroup/kubepods_v2_systemd")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"root/run/secrets/kubernetes.io/serviceaccount/namespace":     "ml-team",
		"root/var/run/secrets/kubernetes.io/serviceaccount/namespace": "ml-team",
		"root/run/secrets/namespace":                                  "",
	} {
		tree := newTree(t)
		tree.add(500, "train", 1000)
		tree.write(500, "cgroup", string(cgroup))
		tree.write(500, path, "ml-team")
		if got := infos(tree.table(), at(0), []int{500})[500].Job.Namespace; got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestPodIsNamedByItsHostName(t *testing.T) {
	cgroup, err := os.ReadFile("testdata/cgroup/kubepods_v2_systemd")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ hostname, want string }{
		{"llm-server-7d4f\n", "pod llm-server-7d4f"},
		{"this-machine\n", "pod 5d3c3f9e"}, // a pod in the host's network
		{"\x1b[2Jgotcha\n", "pod 5d3c3f9e"},
		{strings.Repeat("a", 1000), "pod " + strings.Repeat("a", 256)},
		{"", "pod 5d3c3f9e"},
	} {
		tree := newTree(t)
		tree.add(500, "train", 1000)
		tree.write(500, "cgroup", string(cgroup))
		tree.write(500, "root/etc/hostname", tc.hostname)
		info := infos(tree.table(), at(0), []int{500})[500]
		if got := info.Job.String(); got != tc.want {
			t.Errorf("host name %q: got %q, want %q", tc.hostname, got, tc.want)
		}
	}
}

func TestPodFilesCannotLeadOutside(t *testing.T) {
	cgroup, err := os.ReadFile("testdata/cgroup/kubepods_v2_systemd")
	if err != nil {
		t.Fatal(err)
	}
	tree := newTree(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree.add(500, "train", 1000)
	tree.write(500, "cgroup", string(cgroup))
	etc := filepath.Join(tree.root, strconv.Itoa(500), "root", "etc")
	if err := os.MkdirAll(etc, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(etc, "hostname")); err != nil {
		t.Fatal(err)
	}
	if got := infos(tree.table(), at(0), []int{500})[500].Job.ID; got != "5d3c3f9e" {
		t.Errorf("got %q: the link was followed", got)
	}
}
