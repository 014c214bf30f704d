package server

import (
	"context"
	"encoding/json"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// lookAtComfyUI follows the source of ComfyUI 005f3ba4 and 002f2bed (server.py, main.py). POST
// /free sets flags, which the queue reads after the running workflow. The next workflow loads its
// models again. ComfyUI does not report whether a model is loaded, so Asleep is always false.
func lookAtComfyUI(ctx context.Context, a *asker) (s State, err error) {
	var answer struct {
		System struct {
			Version string `json:"comfyui_version"`
		} `json:"system"`
		Devices []struct {
			Reserved quantity.Bytes `json:"torch_vram_total"`
			Free     quantity.Bytes `json:"torch_vram_free"`
		} `json:"devices"`
		Running []json.RawMessage `json:"queue_running"`
		Pending []json.RawMessage `json:"queue_pending"`
	}
	if err = a.get(ctx, "/system_stats", &answer); err == nil {
		err = a.get(ctx, "/queue", &answer)
	}
	s = unloading(answer.System.Version)
	s.Waits, s.release = true, []step{{"/free", `{"unload_models": true, "free_memory": true}`}}
	s.Requests = snapshot.Int{}
	if answer.Running != nil && answer.Pending != nil {
		s.Requests = quantity.From(len(answer.Running)+len(answer.Pending), quantity.Probe)
	}
	s.Asleep = quantity.From(false, quantity.Probe)
	for _, d := range answer.Devices {
		s.Words, s.Releases = "PyTorch uses "+max(d.Reserved-d.Free, 0).String()+" of "+d.Reserved.String(), quantity.From(d.Reserved, quantity.Probe)
	}
	return s, err
}
