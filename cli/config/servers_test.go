package config

import (
	"reflect"
	"testing"

	"vramscope/guard"
	"vramscope/server"
)

const servers = `
[[server]]
kind = "vllm"
match.command = "vllm serve Qwen*"
address = "127.0.0.1:8001"
key_file = "/home/bob/.vllm-key"
[[server]]
kind = "paths"
match = { command = "render.py*" }
key_env = "RENDER_KEY"
release = "/free"
resume = "/load"
`

func TestServersAreReadAndWritten(t *testing.T) {
	s := Defaults()
	if err := s.parse("config.toml", []byte(servers)); err != nil {
		t.Fatal(err)
	}
	want := []server.Entry{
		{Kind: "vllm", Command: "vllm serve Qwen*", Matches: guard.Pattern("vllm serve Qwen*"), Address: "127.0.0.1:8001", KeyFile: "/home/bob/.vllm-key"},
		{Kind: "paths", Command: "render.py*", Matches: guard.Pattern("render.py*"), KeyEnv: "RENDER_KEY", Release: "/free", Resume: "/load"},
	}
	if !reflect.DeepEqual(s.Servers, want) {
		t.Errorf("read: %+v", s.Servers)
	}
	again := Defaults()
	if err := again.parse("config.toml", []byte(InForce("config.toml", &s))); err != nil || !reflect.DeepEqual(again.Servers, want) {
		t.Errorf("written and read: %+v, %v", again.Servers, err)
	}
}
