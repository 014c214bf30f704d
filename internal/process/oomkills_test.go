package process

import (
	"os"
	"path/filepath"
	"testing"
)

// TestOOMKills: kills are counted in the process's memory cgroup. In a pod or a Slurm job under cgroup
// v2 they are counted in the cgroup of the pod or job, which outlives the cgroup of the process.
func TestOOMKills(t *testing.T) {
	root := t.TempDir()
	write := func(name, content string) {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("user.slice/a.scope/memory.events", "low 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 0\n")
	write("memory/lxc/7/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n")
	write("kubepods.slice/pod1.slice/memory.events", "oom_kill 5\n")
	write("slurm/job_9/memory.events", "oom_kill 6\n")
	write("odd/memory.events", "oom_kill many\n")
	for _, c := range []struct {
		kind, cgroups string
		want          int64 // -1: unknown
	}{
		{"", "0::/user.slice/a.scope\n", 2},
		{"", "4:cpu,memory:/lxc/7\n1:name=systemd:/x\n0::/user.slice/a.scope\n", 4},
		{"pod", "0::/kubepods.slice/pod1.slice/cri-containerd-77.scope\n", 5},
		{"slurm", "0::/slurm/job_9/step_0/user/task_0\n", 6},
		{"", "0::/\n", -1}, {"", "0::/../../user.slice/a.scope\n", -1}, {"", "0::/odd\n", -1}, {"", "rubbish", -1},
	} {
		got := oomKillsIn(root, Job{Kind: c.kind}, c.cgroups)
		if known := got.file != ""; known != (c.want >= 0) || known && got.count != c.want {
			t.Errorf("%q: %+v, want %d", c.cgroups, got, c.want)
		}
	}
	e := entry{info: Info{Identity: Identity{PID: 7, StartTime: 1}}}
	table := NewTable(t.TempDir())
	table.entries[7] = &e
	took := func() { e.take(facts{kills: oomKillsIn(root, Job{}, "0::/user.slice/a.scope\n")}) }
	for range 3 {
		if took(); table.HostMemoryEnded(e.info.Identity) {
			t.Error("what was counted before is taken for its end")
		}
	}
	write("user.slice/a.scope/memory.events", "oom_kill 3\n")
	if !table.HostMemoryEnded(e.info.Identity) {
		t.Error("a kill was not seen")
	}
	if took(); !table.HostMemoryEnded(e.info.Identity) { // the facts were read while the process ended
		t.Error("a kill of a moment ago is forgotten")
	}
	if took(); table.HostMemoryEnded(e.info.Identity) {
		t.Error("a kill of minutes ago is taken for its end")
	}
}
