package server

import (
	"context"
	"fmt"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// lookAtSGLang follows the source in SGLang's wheels 0.5.6 to 0.5.23
// (sglang/srt/entrypoints/http_server.py, managers/scheduler_components/weight_updater.py):
//
//   - A release asserts that the scheduler is idle, and a resume asserts that the memory was released. If
//     an assertion fails, the server ends. SGLang does not report its state, so the caller has to know it.
//   - A request after a release uses memory that is not there, unless the server was paused before the
//     release: in mode retract, requests wait until it continues.
//   - Weights survive only with --enable-weights-cpu-backup. Without it, only the KV cache is released.
//   - Without --enable-memory-saver, a release answers 200 and frees nothing.
func lookAtSGLang(ctx context.Context, a *asker) (s State, err error) {
	var info struct {
		Version string `json:"version"`
		Saver   bool   `json:"enable_memory_saver"`
		Backup  bool   `json:"enable_weights_cpu_backup"`
	}
	if err = a.get(ctx, "/server_info", &info); err != nil {
		return s, err
	}
	s.Version, s.Moves, s.Unloads = info.Version, info.Backup, "KV cache"
	if !info.Saver {
		s.Cannot = "it was started without --enable-memory-saver"
	}
	tags := `{"tags": ["kv_cache"]}`
	if info.Backup {
		tags, s.Unloads = `{"tags": ["kv_cache", "weights"]}`, "KV cache; weights, which go to the host's memory"
	}
	s.back = step{"/continue_generation", "{}"}
	s.release = []step{{"/pause_generation", `{"mode": "retract"}`}, {"/release_memory_occupation", tags}}
	s.resume = []step{{"/resume_memory_occupation", tags}, s.back}
	var answer struct {
		Loads []struct { // one for each rank of data parallelism
			Running int     `json:"num_running_reqs"`
			Waiting int     `json:"num_waiting_reqs"`
			Usage   float64 `json:"token_usage"`
			Memory  struct {
				Weights float64 `json:"weight_gb"`
				KV      float64 `json:"kv_cache_gb"`
				Graphs  float64 `json:"graph_gb"`
			} `json:"memory"`
		} `json:"loads"`
	}
	if err = a.get(ctx, "/v1/loads", &answer); err != nil || len(answer.Loads) == 0 {
		return s, err
	}
	requests, share, parts := 0, 0.0, [3]quantity.Bytes{}
	for _, l := range answer.Loads {
		requests, share = requests+l.Running+l.Waiting, max(share, l.Usage)
		for i, gib := range []float64{l.Memory.KV, l.Memory.Weights, l.Memory.Graphs} { // SGLang's "gb" are GiB
			parts[i] += quantity.Bytes(max(0, min(gib, 1<<20)) * float64(quantity.GiB))
		}
	}
	s.Requests, s.Releases = quantity.From(requests, quantity.Probe), quantity.From(parts[0], quantity.Probe)
	s.Parts = []snapshot.ServedPart{{Name: "kv_cache", Bytes: parts[0]}, {Name: "weights", Bytes: parts[1]}, {Name: "graphs", Bytes: parts[2]}}
	s.uses(share)
	s.Words += fmt.Sprintf(" of %s, weights %s, CUDA graphs %s", parts[0], parts[1], parts[2])
	if info.Backup {
		s.Releases = quantity.From(parts[0]+parts[1], quantity.Probe)
	}
	return s, nil
}
