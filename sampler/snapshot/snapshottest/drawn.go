package snapshottest

import (
	"strconv"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// The pids of DrawnBox that tests name.
const (
	Leaking = 2963112 // carol's on GPU 3, which it will fill
	Probeme = 3011876 // bob's on GPU 3, without a probe
)

// Instance names a MIG instance of the drawn box, by its number on the screen.
func Instance(number int) snapshot.InstanceID {
	return snapshot.InstanceID{MIG: true, GPU: uint32(number), Compute: 0}
}

// DrawnBox returns the box of many golden files: a leak on GPU 3, GPU 6 lost, GPU 5 cut into
// instances, an idle holder on 2, a fragmented job on 4, JAX on 7, processes without a probe, a
// foreign pid, and two processes that ended.
func DrawnBox() *snapshot.Snapshot {
	s := &snapshot.Snapshot{
		Sequence: 400, Time: Now(), Interval: time.Second, ProbeSeen: true, Forecasting: true,
		Host: snapshot.Host{
			Name: "h100-03", User: "root", MemoryTotal: gib(2015), MemoryUsed: gib(412), Load: float(61.2),
		},
		Driver: snapshot.Driver{
			Version: "550.163.01", CUDAVersion: "12.4", State: snapshot.DriverOK, MemoryCall: "v2", ProbesAnswering: 7,
		},
		GPUs: drawnGPUs(),
	}
	s.Rows = drawnRows(s.GPUs)
	s.Ended = drawnEnded(s.GPUs)
	instances := s.GPUs[5].Instances
	for i := range instances {
		instances[i].Parts = partsOf(s.Rows, s.GPUs[5].UUID, instances[i].ID, instances[i].Memory.Used)
	}
	for i := range s.GPUs {
		if gpu := &s.GPUs[i]; gpu.State == snapshot.GPUOK {
			gpu.Parts = partsOf(s.Rows, gpu.UUID, snapshot.InstanceID{}, gpu.Memory.Used)
		}
	}
	carol := RowID(s, Leaking)
	s.Alerts = []snapshot.Alert{
		{Kind: snapshot.AlertFullIn, Severity: snapshot.Urgent, GPU: 3, GPUUUID: s.GPUs[3].UUID, Row: carol,
			Since: Now().Add(-40 * time.Second), Note: "full in 4m10s (3m–6m)", Message: "GPU 3 full in 4m10s (3m–6m)"},
		{Kind: snapshot.AlertLost, Severity: snapshot.Notice, GPU: 6, GPUUUID: s.GPUs[6].UUID,
			Since: s.GPUs[6].Since, Note: "lost", Message: "lost since 12:02:03"},
		{Kind: snapshot.AlertLeak, Severity: snapshot.Notice, GPU: 3, GPUUUID: s.GPUs[3].UUID, Row: carol,
			Since: time.Date(2026, 11, 20, 11, 41, 0, 0, time.UTC), Note: "leak +25M/s", Message: "PID 2963112 carol leaks 25M/s since 11:41"},
	}
	return s
}

// RowID finds a pid among the live and ended rows of a box. It returns the zero RowID if there is
// no such row.
func RowID(s *snapshot.Snapshot, pid int) snapshot.RowID {
	for i := range s.Rows {
		if s.Rows[i].ID.Process.PID == pid {
			return s.Rows[i].ID
		}
	}
	for i := range s.Ended {
		if s.Ended[i].Last.ID.Process.PID == pid {
			return s.Ended[i].Last.ID
		}
	}
	return snapshot.RowID{}
}

func drawnGPUs() []snapshot.GPU {
	type figures struct {
		used                float64
		util, memory, temp  int
		power               float64
		clock, corrected, n int
	}
	rows := []figures{
		{60.818, 97, 61, 68, 612, 1980, 0, 2}, {60.7, 98, 62, 67, 618, 1980, 0, 1},
		{71.699, 0, 0, 41, 128, 345, 0, 1}, {72.91, 98, 70, 71, 645, 1980, 0, 2},
		{50.849, 71, 44, 63, 402, 1980, 0, 2}, {28.41, -1, -1, 55, 371, 1980, 0, 2},
		{0, -1, -1, -1, -1, -1, -1, 1}, {69.7, 64, 38, 60, 377, 1980, 0, 2},
	}
	gpus := make([]snapshot.GPU, len(rows))
	for i, f := range rows {
		gpus[i] = hopper(i, f.used)
		gpu := &gpus[i]
		gpu.ProcessCount = whole(f.n)
		if f.temp < 0 {
			continue
		}
		gpu.Temperature, gpu.Power, gpu.SMClock = whole(f.temp), float(f.power), whole(f.clock)
		gpu.ECC.Uncorrected = count(uint64(f.corrected))
		if f.util >= 0 {
			gpu.Utilization, gpu.MemoryUtilization = whole(f.util), whole(f.memory)
		}
	}
	gpus[2].IdleSince = Now().Add(-42 * time.Minute)
	gpus[3].FullIn = &snapshot.FullIn{
		Median: 4*time.Minute + 10*time.Second, Earliest: 3*time.Minute + 10*time.Second, Latest: 5*time.Minute + 40*time.Second,
	}
	for _, horizon := range []time.Duration{10, 30, 60, 120, 300, 600, 900} {
		seconds := float64(horizon)
		gpus[3].Predicted = append(gpus[3].Predicted, predictionAt(horizon*time.Second, 72.91+0.02436*seconds, 0.004*seconds))
	}
	drawnInstances(&gpus[5])
	lose(&gpus[6], 2*time.Minute+14*time.Second, 41.2)
	return gpus
}

// hopper returns an H100 of 80 GB: 79.6 GiB, of which the driver keeps 0.6.
func hopper(index int, used float64) snapshot.GPU {
	return snapshot.GPU{
		Index: index, UUID: "GPU-5d2c1a00-0000-4000-8000-00000000000" + strconv.Itoa(index), Name: "NVIDIA H100 80GB HBM3",
		PCIBusID: "00000000:" + strconv.Itoa(index+1) + "8:00.0", State: snapshot.GPUOK, LastUsed: gib(used),
		Memory:  snapshot.Memory{Total: gib(79.6), Used: gib(used), Free: gib(79.0 - used), Reserved: gib(0.6)},
		Sensors: metric.Sensors{TemperatureSlowdown: whole(87), PowerLimit: float(700)}, ECC: metric.ECC{Enabled: count(true), Corrected: count(uint64(0))},
	}
}

func drawnInstances(gpu *snapshot.GPU) {
	gpu.MIG = true
	for i, instance := range []struct {
		profile     string
		slices      int
		total, used float64
		processes   int
	}{{"3g.40gb", 3, 39.4, 22.1, 1}, {"2g.20gb", 2, 19.5, 6.31, 1}, {"1g.10gb", 1, 9.6, 0, 0}} {
		gpu.Instances = append(gpu.Instances, snapshot.Instance{
			ID: Instance(i + 1), UUID: "MIG-5d2c1a05-0000-4000-8000-00000000000" + strconv.Itoa(i+1),
			Profile: instance.profile, Slices: instance.slices,
			Memory:       snapshot.Memory{Total: gib(instance.total), Used: gib(instance.used), Free: gib(instance.total - instance.used)},
			ProcessCount: whole(instance.processes),
		})
	}
}

// lose removes the figures that a lost GPU does not have.
func lose(gpu *snapshot.GPU, ago time.Duration, had float64) {
	gpu.State, gpu.Since, gpu.Message = snapshot.GPULost, Now().Add(-ago), "ERROR_GPU_IS_LOST"
	gpu.RetryAt, gpu.LastUsed = Now().Add(8*time.Second), gib(had)
	gpu.Memory.Used, gpu.Memory.Free = snapshot.Bytes{}, snapshot.Bytes{}
	gpu.Parts = snapshot.Parts{}
	gpu.Utilization, gpu.MemoryUtilization, gpu.Temperature, gpu.SMClock = snapshot.Int{}, snapshot.Int{}, snapshot.Int{}, snapshot.Int{}
	gpu.Power = snapshot.Float{}
	gpu.ECC.Uncorrected = quantity.Unknown[uint64]()
}

func drawnRows(gpus []snapshot.GPU) []snapshot.Process {
	at := func(gpu, pid int, user, kind string, used float64, command ...string) row {
		return row{rowOf(&gpus[gpu], pid, user, kind, used, command...)}
	}
	const day, hour, minute, second = 24 * time.Hour, time.Hour, time.Minute, time.Second
	foreign := at(7, 184, "", "C", 9.2).heading(snapshot.TrendSteady, 9.2)
	foreign.ID.Process.StartTime, foreign.ID.Process.Namespace, foreign.Parent = 0, 0, 0
	lost := at(6, 2874001, "hal", "C", 0, "python", "pretrain.py", "--resume", "auto").
		since(5*hour+11*minute).job("slurm", "88117").costs(-1, 100, 27.5)
	lost.Used, lost.Runtime, lost.RuntimeVersion = snapshot.Bytes{}, "PyTorch", "2.6.0"
	rows := []row{
		at(0, 1907, "root", "G", 18.0/1024, "/usr/lib/xorg/Xorg", ":0", "-nolisten", "tcp").
			since(41*day).costs(0, 0, 102.0/1024).heading(snapshot.TrendSteady, 18.0/1024),
		at(0, 2963101, "alice", "C", 60.8, "/opt/conda/bin/python3.11", "-u", "/home/alice/train.py", "--cfg", "llama-7b.yaml", "--rank", "0").
			probed("PyTorch", "2.6.0", 41.2, 3.1, 14.9).since(day+6*hour).job("slurm", "88120").costs(96, 104, 31.2).heading(snapshot.TrendSawtooth, 62.4),
		at(1, 2963102, "alice", "C", 60.7, "/opt/conda/bin/python3.11", "-u", "/home/alice/train.py", "--cfg", "llama-7b.yaml", "--rank", "1").
			probed("PyTorch", "2.6.0", 41, 2.9, 15.2).since(day+6*hour).job("slurm", "88120").costs(97, 103, 31).heading(snapshot.TrendSawtooth, 62.3),
		at(2, 1288410, "bob", "C", 71.699, "/usr/bin/python3", "/usr/local/bin/vllm", "serve", "qwen2.5-32b", "--port", "8000").
			probed("PyTorch", "2.5.1", 68.7, 307.0/1024, 614.0/1024).since(3*day+4*hour).job("pod", "vllm-7c9f").costs(0, 2, 12.4).heading(snapshot.TrendSteady, 71.7),
		carol(at(3, Leaking, "carol", "C", 70.6, "python", "finetune.py", "--cfg", "sft.yaml", "--lr", "2e-5").
			probed("PyTorch", "2.6.0", 52.9, 4.6, 11.8).since(2*hour+23*minute+11*second).job("slurm", "88123").costs(98, 101, 22.7)),
		at(3, Probeme, "bob", "C", 2.31, "python", "eval.py", "--suite", "mmlu", "--ckpt", "last").
			since(6*minute+12*second).job("slurm", "88131").costs(4, 99, 4.1).heading(snapshot.TrendSteady, 2.31),
		at(4, 2701455, "dave", "C", 47.8, "python", "dlrm.py", "--batch", "65536").
			probed("PyTorch", "2.6.0", 22.3, 17.9, 6.2).since(19*hour+40*minute).job("docker", "3fa2c1").costs(71, 88, 18.9).heading(snapshot.TrendSteady, 47.9),
		at(4, 2990210, "gina", "C", 3.05, "python", "-m", "ipykernel_launcher", "-f", "/home/gina/.local/kernel-4e1.json").
			since(8*hour+2*minute).job("docker", "77b0e9").costs(0, 0, 2.2).heading(snapshot.TrendSteady, 3.05),
		at(5, 3000417, "frank", "C", 22.1, "python", "-m", "ipykernel_launcher", "-f", "/home/frank/.local/kernel-b72.json").on(Instance(1)).
			probed("PyTorch", "2.6.0", 15, 1.2, 5.4).since(52*minute+10*second).job("pod", "nb-frank-0").costs(-1, 97, 6).heading(snapshot.TrendGrowing, 22.6),
		at(5, 3000533, "frank", "C", 6.31, "/opt/tritonserver/bin/tritonserver", "--model-repository=/models").on(Instance(2)).
			since(51*minute+44*second).job("pod", "srv-frank-triton").costs(-1, 12, 3.3).heading(snapshot.TrendSteady, 6.31),
		lost,
		foreign,
		at(7, 2955020, "erin", "C", 59.7, "python", "t5x/train.py", "--gin_file=base.gin").
			probed("JAX", "0.11.2", 20.4, 4.6, 33.1).kept("jax").since(4*hour+47*minute).job("slurm", "88125").costs(64, 61, 14.8).heading(snapshot.TrendSteady, 59.7),
	}
	out := make([]snapshot.Process, len(rows))
	for i := range rows {
		out[i] = rows[i].Process
	}
	return out
}

// carol gives carol's leak a forecast at every horizon.
func carol(r row) row {
	r = r.heading(snapshot.TrendLeak, 72.1)
	r.GrowthPerSecond = quantity.From(25*quantity.MiB, quantity.Computed)
	r.Predicted = nil
	for _, p := range []struct{ seconds, median, spread float64 }{
		{10, 70.84, 0.05}, {30, 71.33, 0.12}, {60, 72.1, 0.25}, {120, 73.5, 0.6}, {300, 77.9, 2}, {600, 85.2, 5}, {900, 92.5, 8},
	} {
		r.Predicted = append(r.Predicted, predictionAt(time.Duration(p.seconds)*time.Second, p.median, p.spread))
	}
	return r
}

func drawnEnded(gpus []snapshot.GPU) []snapshot.EndedProcess {
	alice := rowOf(&gpus[1], 2961877, "alice", "C", 60.1, "python", "/home/alice/train.py", "--cfg", "llama-7b.yaml", "--rank", "1")
	alice.Peak = gib(71.3)
	carol := rowOf(&gpus[3], 2959310, "carol", "C", 74.4, "python", "finetune.py", "--cfg", "sft.yaml", "--lr", "1e-4")
	carol.Peak = gib(78.9)
	return []snapshot.EndedProcess{
		{Last: alice, Ended: Now().Add(-3*time.Minute - 41*time.Second), OutOfMemoryCount: count[int64](1)},
		{Last: carol, Ended: Now().Add(-2*time.Hour - 25*time.Minute), OutOfMemoryCount: count[int64](1), ExitStatus: whole(1)},
	}
}
