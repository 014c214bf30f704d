package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"

	"vramscope/internal/quantity"
)

// lookAtLlama follows the source of llama.cpp's server b11434 (tools/server/server-models.cpp, server.cpp). A router
// runs each model in a child process. An unload ends that process and the requests in it, and the next request loads
// the model again. The requests that are made here wake no sleeping model.
func lookAtLlama(ctx context.Context, a *asker) (s State, err error) {
	var answer struct {
		Build  string `json:"build_info"`
		Role   string `json:"role"`
		Models []struct {
			ID     string `json:"id"`
			Status struct {
				Value string `json:"value"`
			} `json:"status"`
		} `json:"data"`
	}
	if err = a.get(ctx, "/props", &answer); err == nil {
		err = a.get(ctx, "/models", &answer)
	}
	if err == nil && answer.Models == nil {
		err = errors.New("GET /models: no list")
	}
	if s = unloading(answer.Build); answer.Role != "router" {
		s.Cannot = "it has one model, and is no router: only --sleep-idle-seconds unloads it"
	}
	for _, m := range answer.Models {
		switch m.Status.Value {
		case "loading":
			s.loaded(m.ID, quantity.From(1, quantity.Probe)) // the request that waits for the model
		case "loaded":
			name, _ := json.Marshal(m.ID) // a string can always be encoded
			s.release = append(s.release, step{"/models/unload", `{"model": ` + string(name) + `}`})
			s.loaded(m.ID, a.requests(ctx, "/metrics?autoload=false&model="+url.QueryEscape(m.ID)))
		}
	}
	return s, err
}
