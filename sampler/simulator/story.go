package simulator

import (
	"slices"
	"strconv"
	"time"

	"vramscope/internal/quantity"
	"vramscope/nvml"
)

func gibibytes(n float64) quantity.Bytes { return quantity.Bytes(n*1024) * mib }

// sawtoothScene returns one rank of alice's data-parallel training.
func sawtoothScene(rank int) scene {
	train := script(alice, "train.py", "--cfg", "llama-7b.yaml", "--rank", strconv.Itoa(rank)).
		slurm(88120, 2963090).running(2963101+rank, 30*time.Hour+14*time.Minute).costs(31.2-0.2*float64(rank), 104-float64(rank))
	train.runtime, train.context = pytorch, gibibytes(1.6)
	train.pause = span{20 * time.Second, time.Minute}
	train.program = playing(training{
		weights: weights{size: quantity.Bytes(320-2*rank) * mib, hole: 25 * mib, count: 128, small: true},
		ladder:  ladder{first: 560 * mib, ratio: 1.06, rungs: 14},
		loading: 40 * time.Second,
		epoch:   170 * time.Second, begins: 80 * time.Second, buckets: 7, every: 2,
	})
	if rank == 0 {
		return scene{roles: []role{train, display()}}
	}
	check := script(alice, "eval_ckpt.py", "--ckpt", "last", "--split", "dev").slurm(88120, 2963090).costs(6.1, 97).
		comes(100*time.Second, span{40 * time.Second, 90 * time.Second}, span{5 * time.Minute, 9 * time.Minute})
	check.program = playing(steady{size: gibibytes(3.2), ramp: 14 * time.Second, swing: 120 * mib, period: 7 * time.Second, load: 0.12})
	return scene{roles: []role{train, check}}
}

func display() role {
	x := role{
		user: root, command: []string{"/usr/lib/xorg/Xorg", ":0", "-nolisten", "tcp"},
		comm: "Xorg", kind: nvml.Graphics,
	}
	x = x.running(1907, uptime-41*time.Second).costs(0.1, 0)
	x.program = playing(steady{size: 18 * mib})
	return x
}

// serverScene returns bob's LLM server, idle until 14 minutes into the story.
func serverScene() scene {
	serve := script(bob, "/opt/conda/bin/vllm", "serve", "qwen2.5-32b", "--port", "8000").
		container("pod", "vllm-7c9f", 1288350, 1).running(1288410, 76*time.Hour+8*time.Minute).costs(12.4, 2)
	serve.comm = "vllm"
	serve.runtime, serve.context = pytorch, gibibytes(2.1)
	serve.program = playing(serving{
		weights:   weights{size: 1100 * mib, hole: 20 * mib, holes: 15, count: 64},
		workspace: []quantity.Bytes{300 * mib, 200 * mib, 114 * mib},
		loading:   90 * time.Second,
		quiet:     14 * time.Minute,
	})
	return scene{roles: []role{serve}}
}

// leakScene returns carol's leak, with bob's evaluation beside it.
func leakScene() scene {
	eval := script(bob, "eval.py", "--suite", "mmlu", "--ckpt", "last").
		slurm(88131, 3011850).running(3011876, 6*time.Minute+12*time.Second).costs(4.1, 99).
		comes(0, span{9 * time.Minute, 14 * time.Minute}, span{2 * time.Minute, 6 * time.Minute})
	eval.program = playing(steady{size: gibibytes(2.31), ramp: 20 * time.Second, load: 0.04})

	tune := script(carol, "finetune.py", "--cfg", "sft.yaml", "--lr", "2e-5").
		slurm(88123, 2963098).running(2963112, 2*time.Hour+23*time.Minute+9*time.Second).costs(22.7, 101)
	tune.runtime, tune.context = pytorch, gibibytes(1.3)
	tune.pause = span{35 * time.Second, 70 * time.Second}
	tune.program = playing(leaking{
		weights: weights{size: 154 * mib, hole: 20 * mib, count: 216, small: true},
		ladder:  ladder{first: 600 * mib, ratio: 1.09, rungs: 12},
		loading: 45 * time.Second,
		holds:   gibibytes(68.54),
	})
	return scene{roles: []role{eval, tune}}
}

// fragmentedScene returns dave's recommender, with gina's notebook and tests.
func fragmentedScene() scene {
	shard := script(dave, "dlrm.py", "--batch", "65536").
		container("docker", "3fa2c1", 2701380, 42).running(2701455, 19*time.Hour+40*time.Minute).costs(18.9, 88)
	shard.runtime, shard.context = pytorch, gibibytes(1.4)
	shard.config = "expandable_segments:False"
	shard.pause = span{20 * time.Second, time.Minute}
	shard.program = playing(serving{
		weights:   weights{size: 250 * mib, hole: 206 * mib, count: 88, small: true}, // tables of embeddings: nearly half of the memory is fragmented
		workspace: slices.Repeat([]quantity.Bytes{456 * mib}, 14),
		loading:   time.Minute,
		busy:      0.71,
	})
	book := script(gina, "-m", "ipykernel_launcher", "-f", "kernel-4e1.json").
		container("docker", "77b0e9", 2990150, 31).running(2990210, 8*time.Hour+2*time.Minute).costs(2.2, 0)
	book.program = playing(steady{size: gibibytes(3.05)})
	tests := script(gina, "-m", "pytest", "tests/gpu", "-q", "-x").container("docker", "77b0e9", 2990150, 940).costs(2.6, 93).
		comes(25*time.Second, span{18 * time.Second, 50 * time.Second}, span{70 * time.Second, 5 * time.Minute})
	tests.program = playing(steady{size: gibibytes(1.4), ramp: 6 * time.Second, swing: 300 * mib, period: 4 * time.Second, load: 0.1, rest: 0.3})
	return scene{roles: []role{shard, book, tests}, corrected: 3}
}

// migScene returns a GPU of three instances, two of them used by frank.
func migScene() scene {
	book := script(frank, "-m", "ipykernel_launcher", "-f", "kernel-b72.json").
		container("pod", "nb-frank-0", 3000340, 58).running(3000417, 52*time.Minute+10*time.Second).costs(6, 97)
	book.runtime, book.context, book.instance = pytorch, 512*mib, 1
	book.entered = "attach" // notebooks are usually started without a probe
	book.pause = span{20 * time.Second, time.Minute}
	book.program = playing(serving{
		weights:   weights{size: 310 * mib, hole: 24 * mib, count: 50, small: true},
		workspace: []quantity.Bytes{2200 * mib, 1800 * mib, 1500 * mib},
		loading:   20 * time.Second,
		quiet:     12 * time.Second,
	})
	serve := role{
		user: frank, comm: "tritonserver", kind: nvml.Compute,
		command: []string{"/opt/tritonserver/bin/tritonserver", "--model-repository=/models"},
	}
	serve = serve.container("pod", "srv-frank-0", 3000470, 1).running(3000533, 51*time.Minute+44*time.Second).costs(3.3, 12)
	serve.instance = 2
	serve.program = playing(steady{size: gibibytes(6.31), swing: 24 * mib, period: 3 * time.Minute, load: 0.12, rest: 0.2})
	return scene{
		roles: []role{book, serve},
		instances: []instance{
			{id: nvml.InstanceID{MIG: true, GPU: 1}, profile: "3g.40gb", slices: 3, frame: &frame{total: 40320 * mib}},
			{id: nvml.InstanceID{MIG: true, GPU: 5}, profile: "2g.20gb", slices: 2, frame: &frame{total: 19968 * mib}},
			{id: nvml.InstanceID{MIG: true, GPU: 9}, profile: "1g.10gb", slices: 1, frame: &frame{total: 9856 * mib}},
		},
	}
}

// lostScene returns hal's pretraining on a GPU that is lost.
func lostScene() scene {
	train := script(hal, "pretrain.py", "--resume", "auto").
		slurm(88117, 2873980).running(2874001, 5*time.Hour+11*time.Minute).costs(27.5, 100)
	train.runtime, train.context = pytorch, gibibytes(1.5)
	train.pause = span{4 * time.Second, 8 * time.Second}
	train.program = playing(training{
		weights: weights{size: 200 * mib, hole: 12 * mib, count: 128, small: true},
		ladder:  ladder{first: 670 * mib, ratio: 1.09, rungs: 12},
		loading: 25 * time.Second,
		every:   2,
	})
	return scene{roles: []role{train}, lost: true}
}

// jaxScene returns erin's JAX job, with a process of another container beside it.
func jaxScene() scene {
	train := script(erin, "t5x/train.py", "--gin_file=base.gin").
		slurm(88125, 2954990).running(2955020, 4*time.Hour+47*time.Minute).costs(14.8, 61)
	train.runtime, train.version, train.context = jax, "0.11.2", gibibytes(1.6)
	train.pause = span{20 * time.Second, time.Minute}
	train.program = playing(preallocating{fraction: 0.75, size: 396 * mib, hole: 96 * mib, count: 50, compile: 20 * time.Second})
	other := role{user: user{}, foreign: true, kind: nvml.Compute}
	other = other.running(184, 26*time.Hour)
	other.program = playing(steady{size: gibibytes(9.2), swing: 60 * mib, period: 6 * time.Minute, load: 0.06, rest: 0.4})
	return scene{roles: []role{train, other}}
}
