package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// lookAtOllama follows the source in Ollama's modules 0.17.4, 0.9.0 and 0.5.0 (server/routes.go, sched.go).
// Ollama runs each model in a child process. An unload ends that process after its last request; the next
// request loads the model again.
func lookAtOllama(ctx context.Context, a *asker) (s State, err error) {
	var answer struct {
		Version string `json:"version"`
		Models  []struct {
			Name string         `json:"name"`
			VRAM quantity.Bytes `json:"size_vram"`
		} `json:"models"`
	}
	if err = a.get(ctx, "/api/version", &answer); err == nil {
		err = a.get(ctx, "/api/ps", &answer)
	}
	if err == nil && (answer.Models == nil) {
		err = errors.New("GET /api/ps: no models")
	}
	s = unloading(answer.Version)
	s.Waits, s.Requests = true, snapshot.Int{}
	var held quantity.Bytes
	for _, m := range answer.Models {
		name, _ := json.Marshal(m.Name) // a string can always be encoded
		s.release = append(s.release, step{"/api/generate", fmt.Sprintf(`{"model": %s, "keep_alive": 0}`, name)})
		s.loaded(m.Name+" "+m.VRAM.String(), s.Requests)
		held += max(m.VRAM, 0)
	}
	s.Parts = []snapshot.ServedPart{{Name: "models", Bytes: held}}
	s.Releases = quantity.From(held, quantity.Probe)
	return s, err
}
