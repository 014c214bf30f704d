package server

import (
	"context"
	"errors"
	"net/netip"
	"net/url"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// lookAtLlamaSwap follows llama-swap's source 0bdb372 of August 2026 (internal/server/api.go, apigroup.go,
// internal/router/base.go). An unload ends the models' servers and the requests in them; the answer comes when these
// servers have ended. llama-swap does not report whether a server is busy, so each server is asked for its metrics
// directly: llama-swap would count a request through it as a use.
func lookAtLlamaSwap(ctx context.Context, a *asker) (s State, err error) {
	var answer struct {
		Version string `json:"version"`
		Running []struct {
			Model string `json:"model"`
			State string `json:"state"`
			Proxy string `json:"proxy"` // where the model's server listens
		} `json:"running"`
	}
	if err = a.get(ctx, "/api/version", &answer); err == nil {
		err = a.get(ctx, "/running", &answer)
	}
	if err == nil && answer.Running == nil {
		err = errors.New("GET /running: no list")
	}
	s = unloading(answer.Version)
	s.release = []step{{path: "/api/models/unload"}}
	for _, m := range answer.Running {
		requests := quantity.From(1, quantity.Probe) // a server that starts or ends counts as busy
		if m.State == "ready" {
			requests = snapshot.Int{}
			if at, err := url.Parse(m.Proxy); err == nil && m.Proxy == "http://"+at.Host && isLoopback(at.Hostname()) { // llama-swap's key is not sent
				requests = (&asker{base: m.Proxy}).requests(ctx, "/metrics")
			}
		}
		s.loaded(m.Model, requests)
	}
	return s, err
}

func isLoopback(host string) bool {
	address, _ := netip.ParseAddr(host) // zero if host is a name
	return host == "localhost" || address.IsLoopback()
}
