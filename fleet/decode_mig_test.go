package fleet

import (
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// TestInstances: a GPU with MIG has its instances and their processes, without those with an invalid name.
func TestInstances(t *testing.T) {
	of := func(name string, value float64, labels ...string) series {
		m := map[string]string{"__name__": name, "uuid": "GPU-a", "gpu": "0"}
		for i := 0; i < len(labels); i += 2 {
			m[labels[i]] = labels[i+1]
		}
		return series{m, value}
	}
	const gib = float64(quantity.GiB)
	snap := boxOf([]series{
		of("vramscope_gpu_memory_used_bytes", 30*gib), of("vramscope_gpu_memory_total_bytes", 80*gib),
		of("vramscope_mig_info", 1, "mig", "9/0", "mig_uuid", "MIG-b", "profile", "1g.10gb"),
		of("vramscope_mig_info", 1, "mig", "1/0", "mig_uuid", "MIG-a", "profile", "3g.40gb"),
		of("vramscope_mig_memory_used_bytes", 20*gib, "mig", "1/0"), of("vramscope_mig_memory_total_bytes", 40*gib, "mig", "1/0"),
		of("vramscope_mig_full_in_seconds", 60, "mig", "1/0"),
		of("vramscope_mig_memory_used_bytes", gib, "mig", "evil"),
		of("vramscope_process_memory_used_bytes", 19*gib, "mig", "1/0", "pid", "7"),
		of("vramscope_process_memory_allocated_bytes", 15*gib, "mig", "1/0", "pid", "7"),
	}, "box", time.Unix(1e9, 0))
	g := snap.GPU("GPU-a")
	if g == nil || !g.MIG || len(g.Instances) != 2 || g.Instances[0].Profile != "3g.40gb" || g.Instances[1].UUID != "MIG-b" {
		t.Fatalf("%+v", g)
	}
	in := g.Instances[0]
	if in.Memory.Used.Or(0) != 20*quantity.GiB || in.Memory.Total.Or(0) != 40*quantity.GiB || in.Parts.Allocated.Or(0) != 15*quantity.GiB || in.FullIn == nil || in.FullIn.Median != time.Minute {
		t.Errorf("%+v", in)
	}
	if g.Instances[1].Memory.Used.Known() {
		t.Error("an unknown figure is known")
	}
	if id := snap.Rows[0].ID.Instance; id != (snapshot.InstanceID{MIG: true, GPU: 1}) {
		t.Errorf("its process is on %+v", id)
	}
}
