package main

import (
	"slices"
	"testing"
	"time"

	"vramscope/fleet"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

func others(t *testing.T, pic *fleet.Picture) {
	rtx, mig, shared, smi := find(pic, "node-1", 2), find(pic, "node-2", 0), find(pic, "node-2", 1), find(pic, "nvidia_gpu_exporter", 0)
	if m := rtx.GPU.Memory; m.Used.Or(0) != 4000*quantity.MiB || m.Total.Or(0) != 24220*quantity.MiB || rtx.GPU.Utilization.Or(0) != 44 || rtx.GPU.Name != "Quadro RTX 6000" {
		t.Errorf("dcgm-exporter: %+v", rtx)
	}
	if rtx.GPU.Parts.Allocated.Known() || rtx.GPU.Parts.Returnable.Known() {
		t.Errorf("parts that no exporter reports are known: %+v", rtx.GPU.Parts)
	}
	if g := &mig.GPU; g.Memory.Used.Or(0) != 19000*quantity.MiB || g.Memory.Total.Or(0) != 38024*quantity.MiB || g.Temperature.Or(0) != 45 || g.Utilization.Known() {
		t.Errorf("MIG instances have their memory together, and the GPU's temperature each: %+v", mig)
	}
	for l, used := range map[*fleet.Line]quantity.Bytes{shared: 10000, find(pic, "node-1", 3): 5000} {
		if l == nil || l.GPU.Memory.Used.Or(0) != used*quantity.MiB || !l.GPU.Memory.Total.Known() || !l.GPU.Temperature.Known() || l.GPU.Utilization.Or(0) < 70 {
			t.Errorf("of a GPU that pods share: %+v", l)
		}
	}
	if m := smi.GPU.Memory; m.Used.Or(0) != 706740224 || m.Total.Or(0) != 8589934592 || smi.GPU.Utilization.Or(0) != 42 || smi.GPU.UUID != "GPU-df6e7a7c-7314-46f8-abc4-b88b36dcf3aa" {
		t.Errorf("nvidia_gpu_exporter: %+v", smi)
	}
}

// foreignBox opens a box that dcgm-exporter reports, and checks MIG instances and pods'
// shares, now and in the past.
func foreignBox(t *testing.T, source fleet.Source) {
	const name = "dcgm-exporter-hostname:9841"
	box, err := source.Box(t.Context(), name, time.Time{})
	if err != nil || len(box.GPUs) != 2 {
		t.Fatalf("%v, %+v", err, box)
	}
	mig, shared := &box.GPUs[0], &box.GPUs[1]
	if mig.Memory.Used.Or(0) != 19000*quantity.MiB || mig.Temperature.Or(0) != 45 || mig.Power.Or(0) != 210.5 {
		t.Errorf("MIG: %+v", mig)
	}
	if shared.Memory.Used.Or(0) != 10000*quantity.MiB || shared.Memory.Free.Or(0) != 30000*quantity.MiB || shared.Utilization.Or(0) != 70 || shared.Temperature.Or(0) != 50 {
		t.Errorf("shared by pods: %+v", shared)
	}
	past, err := source.Past(t.Context(), name, box.Time.Add(-10*time.Second), box.Time)
	if err != nil {
		t.Fatal(err)
	}
	for uuid, used := range map[string]quantity.Bytes{mig.UUID: 19000, shared.UUID: 10000} {
		samples := past[snapshot.SeriesKey{Metric: metric.Used, GPUUUID: uuid}]
		if len(samples) == 0 || !slices.IsSortedFunc(samples, func(a, b fleet.Sample) int { return a.Time.Compare(b.Time) }) {
			t.Fatalf("the past of %s: %+v", uuid, samples)
		}
		if last := samples[len(samples)-1]; last.Value != int64(used*quantity.MiB) {
			t.Errorf("the past of %s ends with %+v", uuid, last)
		}
	}
}
