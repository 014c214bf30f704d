package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"vramscope/guard"
	"vramscope/server"
)

// serverList is the list [[server]], which has no flags.
const serverList = "server"

func serverOptions(e *server.Entry) []Option {
	return []Option{
		{Key: "match.command", Value: word(&e.Command, shown)},
		{Key: "kind", Value: word(&e.Kind, shown)},
		{Key: "address", Value: word(&e.Address, address)},
		{Key: "key_file", Value: word(&e.KeyFile, shown)},
		{Key: "key_env", Value: word(&e.KeyEnv, shown)},
		{Key: "release", Value: word(&e.Release, shown)},
		{Key: "resume", Value: word(&e.Resume, shown)},
		{Key: "watch", Value: truth(&e.Watch)},
		{Key: "hold", Value: duration(&e.Hold, time.Second, 7*24*time.Hour)},
	}
}

func (r *reader) readServers(to *[]server.Entry, value any) {
	for i, table := range r.tables(serverList, value, mostRules) {
		e, root, before := server.Entry{}, fmt.Sprintf("%s[%d].", serverList, i), len(r.mistakes)
		r.read(root, "", table, serverOptions(&e))
		_, known := server.Kinds[e.Kind]
		e.Matches = guard.Pattern(e.Command)
		switch own := e.Kind == server.Paths; {
		case len(r.mistakes) > before: // one mistake in an entry often causes another
		case !known:
			r.fail(root+"kind", errors.New("say which: vllm, sglang, ollama, llama.cpp, llama-swap, comfyui or paths"))
		case own && (e.Command == "" || !strings.HasPrefix(e.Release, "/") || !strings.HasPrefix(e.Resume, "/")):
			r.fail(root+"kind", errors.New(`paths need match = { command = "render.py*" }, release = "/free" and resume = "/load"`))
		case own && e.Watch:
			r.fail(root+"watch", errors.New("paths report nothing: there is nothing to watch"))
		}
		*to = append(*to, e)
	}
}
