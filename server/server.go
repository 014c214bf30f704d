// Package server is a client of inference servers: it reads their state, and makes them release
// their GPU memory and take it again.
//
//	a process on a GPU ─→ Finder.Find (up the tree; command line, listening port) ─→ Server
//	Server.Look ─→ State (version, requests, asleep, memory) ─→ Server.Ask
//
// An answer is only a claim: action/flush asks the driver for the result. Each kind of server except
// Paths has a file, which names the releases whose source was read.
package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// Kind is a kind of server.
type Kind struct {
	Name  string // "vLLM"
	Keeps bool   // a release ends none of its processes

	look     func(context.Context, *asker) (State, error)
	oldest   string   // the oldest version that is known to release its memory safely; "": any
	port     uint16   // the default
	commands []string // parts of a command line that identify the kind
}

// Paths is the kind of a program whose release and resume paths are in the configuration.
const Paths = "paths"

// Kinds has the kinds by their names in the configuration and in the audit log.
var Kinds = map[string]Kind{
	"vllm":   {"vLLM", true, lookAtVLLM, "0.17.0", 8000, []string{"/vllm serve ", " -m vllm.entrypoints."}},
	"sglang": {"SGLang", true, lookAtSGLang, "0.5.10", 30000, []string{"/sglang serve ", " -m sglang.launch_server "}},
	"ollama": {"Ollama", false, lookAtOllama, "0.5.0", 11434, []string{"/ollama serve "}},

	"llama.cpp":  {"llama.cpp", false, lookAtLlama, "", 8080, []string{"/llama-server "}},
	"llama-swap": {"llama-swap", false, lookAtLlamaSwap, "", 8080, []string{"/llama-swap "}},
	"comfyui":    {"ComfyUI", true, lookAtComfyUI, "0.3.0", 8188, []string{"/ComfyUI/main.py "}},

	Paths: {Name: "its server"},
}

// Named lists the kinds except Paths, for messages.
const Named = "vLLM, SGLang, Ollama, llama.cpp, llama-swap, ComfyUI"

// Server is an inference server that can be asked.
type Server struct {
	Kind
	Key     string           // in Kinds
	Process process.Identity // the process that listens
	Limit   time.Duration    // how long a release may take before it counts as failed
	Finder  *Finder
	Watched bool          // as Entry.Watch
	Hold    time.Duration // as Entry.Hold
	command string
	asker   asker
}

// State is a server's report about itself.
type State struct {
	snapshot.Served
	Cannot  string // why the server cannot release its memory; "" if it can
	Waits   bool   // a release waits for running requests, and aborts none
	Moves   bool   // a release moves weights to host memory
	Unloads string // in words, the memory that a release frees

	release []step
	resume  []step
	back    step // sent if the server refuses the release
}

// step is a request: its path, and its body, which is JSON or empty.
type step struct{ path, send string }

// Held returns how much memory a server reports.
func (s *State) Held() (sum quantity.Bytes) {
	for _, part := range s.Parts {
		sum += part.Bytes
	}
	return sum
}

// unloading returns the first state of a server that unloads models; loaded then adds each model.
func unloading(version string) State {
	s := State{Unloads: "models, which the next request loads again"}
	s.Version, s.Requests, s.Asleep = version, quantity.From(0, quantity.Probe), quantity.From(true, quantity.Probe)
	return s
}

// loaded adds a model and its requests.
func (s *State) loaded(name string, requests snapshot.Int) {
	s.Words = strings.TrimPrefix(s.Words+", "+name, ", ")
	s.Requests, s.Asleep = quantity.All(s.Requests, requests), quantity.From(false, quantity.Probe)
}

// Resumes reports whether a server must be asked to take its memory back. Other servers take it back at their next request.
func (s *State) Resumes() bool { return len(s.resume) > 0 }

// Exceeds reports whether a server reports more memory than the driver does, by over 2 %.
func (s *State) Exceeds(used quantity.Bytes) bool { return s.Held() > used+used/50 }

// uses sets the share of the KV cache that is in use. It ignores a value outside 0 to 1.
func (s *State) uses(share float64) {
	if share >= 0 && share <= 1 {
		s.KVCacheUsed, s.Words = quantity.From(share, quantity.Probe), fmt.Sprintf("KV cache %.0f %% in use", 100*share)
	}
}

// Checked returns the server's report. Its figures are left out if the server sleeps, or if the driver does not confirm the memory:
// the report exceeds used, the driver's figure for all processes of the server, or used is unknown.
func (s *State) Checked(used snapshot.Bytes) snapshot.Served {
	out := s.Served
	bytes, known := used.Value()
	switch {
	case s.Asleep.Or(false):
		out.Words = "asleep"
	case !known && s.Held() > 0:
		out.Words, out.Refused = "", fmt.Sprintf("reports %s, and the driver does not report its memory", s.Held())
	case known && s.Exceeds(bytes):
		out.Words, out.Refused = "", fmt.Sprintf("reports %s, the driver %s", s.Held(), bytes)
	default:
		return out
	}
	out.Parts, out.KVCacheUsed, out.Releases = nil, snapshot.Float{}, snapshot.Bytes{}
	return out
}

// Look asks a server for its state. The error is a *process.Refusal: the server did not answer as its kind does.
func (s *Server) Look(ctx context.Context) (State, error) {
	if s.Key == Paths {
		return State{Served: snapshot.Served{Process: s.Process, Name: s.Name, Command: s.command}, Waits: true, release: s.asker.paths[:1], resume: s.asker.paths[1:]}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	state, err := s.look(ctx, &s.asker)
	state.Process, state.Name, state.Command, state.Words = s.Process, s.Name, s.command, text.Clean(state.Words)
	if err == nil && state.Version == "" {
		err = errors.New("it has no version")
	}
	if err != nil {
		return State{}, &process.Refusal{Reason: s.asker.base + " does not answer as " + s.Name + " does: " + err.Error()}
	}
	if state.Cannot == "" && older(state.Version, s.oldest) {
		state.Cannot = "it is version " + text.Clean(state.Version) + ": before " + s.oldest + " a release is not known to be safe"
	}
	return state, nil
}

// Ask asks the server to release its memory, or to take it again, and waits for the answer.
func (s *Server) Ask(ctx context.Context, state *State, release bool) error {
	steps := state.resume
	if release {
		steps = state.release
	}
	for _, step := range steps {
		if _, err := s.asker.ask(ctx, http.MethodPost, step); err != nil {
			if isStatus(err) && release && state.back.path != "" {
				_, _ = s.asker.ask(ctx, http.MethodPost, state.back) // the first error says more
			}
			return err
		}
	}
	return nil
}

// Ended reports whether the listening process has ended. For a kind that Keeps, it also reports the end of process id.
func (s *Server) Ended(id process.Identity) bool {
	return !s.Finder.Table.Alive(s.Process) || s.Keeps && !s.Finder.Table.Alive(id)
}

// older compares the first three numbers of two versions: "0.17.0rc1" has 0, 17 and 0.
func older(version, than string) bool {
	var numbers [2][3]int
	for i, text := range []string{version, than} {
		_, _ = fmt.Sscanf(text, "%d.%d.%d", &numbers[i][0], &numbers[i][1], &numbers[i][2]) // a missing number stays 0
	}
	return slices.Compare(numbers[0][:], numbers[1][:]) < 0
}
