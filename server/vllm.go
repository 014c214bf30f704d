package server

import (
	"context"
	"net/http"
	"strings"

	"vramscope/internal/quantity"
)

// lookAtVLLM follows the source in vLLM's wheels 0.33.0 (vllm/entrypoints/serve/dev/sleep,
// vllm/v1/metrics/loggers.py), 0.16.0 and 0.11.0. Before 0.17.0 a sleeping engine still schedules requests
// (https://github.com/vllm-project/vllm/pull/34528), which then use memory that is not there.
//
// The release uses level 1, because level 2 discards the weights, and mode wait, because the default mode aborts requests.
func lookAtVLLM(ctx context.Context, a *asker) (s State, err error) {
	var answer struct {
		Version  string `json:"version"`
		Sleeping *bool  `json:"is_sleeping"`
	}
	if err = a.get(ctx, "/version", &answer); err != nil {
		return s, err
	}
	s.Version, s.Moves, s.Unloads = answer.Version, true, "KV cache; weights, which go to the host's memory"
	s.release, s.resume = []step{{path: "/sleep?level=1&mode=wait"}}, []step{{path: "/wake_up"}}
	if err = a.get(ctx, "/is_sleeping", &answer); isStatus(err, http.StatusNotFound) {
		s.Cannot = "it was started without VLLM_SERVER_DEV_MODE=1 and --enable-sleep-mode"
	} else if err != nil {
		return s, err
	}
	if answer.Sleeping != nil {
		s.Asleep = quantity.From(*answer.Sleeping, quantity.Probe)
	}
	metrics, err := a.ask(ctx, http.MethodGet, step{path: "/metrics"})
	values := sums(metrics)
	s.Requests = requestsIn(values)
	engines := max(strings.Count(string(metrics), "\nvllm:kv_cache_usage_perc{"), 1)
	if share, ok := values["vllm:kv_cache_usage_perc"]; ok {
		s.uses(share / float64(engines))
	}
	return s, err
}
