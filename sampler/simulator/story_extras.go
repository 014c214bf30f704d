package simulator

import (
	"time"

	"vramscope/internal/quantity"
)

// extras are the scenes of GPU 8 to 15: a job on four GPUs, two servers, a JAX
// job, and an unused GPU.
func extras() []scene {
	scenes := make([]scene, 0, MaxGPUs-DefaultGPUs)
	for rank := range 4 {
		scenes = append(scenes, shardedScene(rank))
	}
	return append(scenes, replicaScene(0), replicaScene(1), smallJAXScene(), scene{})
}

// shardedScene is one rank of gina's fully sharded training.
func shardedScene(rank int) scene {
	train := script(gina, "fsdp.py", "--model", "13b", "--local-rank", itoa(rank)).
		slurm(88102, 2751800).running(2751822+rank, 51*time.Hour+19*time.Minute).costs(24.4, 101)
	train.runtime, train.context = pytorch, gibibytes(1.7)
	train.pause = span{20 * time.Second, time.Minute}
	train.program = func() program {
		return &training{
			weights: weights{size: quantity.Bytes(192+rank) * mib, hole: 10 * mib, count: 128, small: true},
			ladder:  ladder{first: 480 * mib, ratio: 1.05, rungs: 10},
			loading: 40 * time.Second,
			epoch:   300 * time.Second, begins: 130 * time.Second, buckets: 4, every: 4,
		}
	}
	return scene{roles: []role{train}}
}

// replicaScene is one of bob's smaller servers.
func replicaScene(replica int) scene {
	serve := script(bob, "/opt/conda/bin/vllm", "serve", "llama-3.1-8b", "--port", itoa(8001+replica)).
		pod("vllm-small-"+itoa(replica), 1301220+200*replica, 1).
		running(1301260+200*replica, 75*time.Hour).costs(9.8, 14)
	serve.comm = "vllm"
	serve.runtime, serve.context = pytorch, gibibytes(1.9)
	serve.program = func() program {
		return &serving{
			weights:   weights{size: 720 * mib, hole: 18 * mib, holes: 9, count: 64 - 8*replica},
			workspace: []quantity.Bytes{260 * mib, 180 * mib, 90 * mib},
			loading:   50 * time.Second,
			quiet:     -MaxPrelude,
		}
	}
	return scene{roles: []role{serve}}
}

// smallJAXScene is a JAX job that preallocates half of the GPU.
func smallJAXScene() scene {
	train := script(erin, "vit/train.py", "--config", "s16.py").
		slurm(88127, 2958700).running(2958733, 3*time.Hour+6*time.Minute).costs(8.2, 55)
	train.runtime, train.version, train.context = jax, "0.11.2", gibibytes(1.5)
	train.pause = span{20 * time.Second, time.Minute}
	train.program = func() program {
		return &preallocating{fraction: 0.5, size: 210 * mib, hole: 40 * mib, count: 40, compile: 20 * time.Second}
	}
	return scene{roles: []role{train}}
}
