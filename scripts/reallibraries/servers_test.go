//go:build linux && cgo

package reallibraries

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"vramscope/internal/needs"
	"vramscope/schema"
)

// TestServersSleep: servers with the routes of vLLM's and SGLang's wheels, and an engine that only
// holds memory, release their memory and take it again. SGLang asks for a key, and gets it.
func TestServersSleep(t *testing.T) {
	needs.Tool(t, "python3")
	beyondCore(t)
	for kind, started := range map[string][]string{"vllm": {"/bin/vllm", "serve", "m"}, "sglang": {"-m", "sglang.launch_server", "--key", "secret-1234"}} {
		t.Run(kind, func(t *testing.T) {
			sites, vramscope := releases(t, kind), needs.Vramscope(t)
			for _, site := range sites {
				free, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				_, port, _ := net.SplitHostPort(free.Addr().String())
				_ = free.Close() // the server listens on this port
				p := box(t, job{vramscope: vramscope, site: site})
				p.questions = new(int)
				cmd := exec.Command("python3", append([]string{"server_routes.py", kind, site, port}, append(started, "--port", port)...)...)
				cmd.Env = append(p.environment, "PYTHONDONTWRITEBYTECODE=1")
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // it serves without end
				pid := strconv.Itoa(cmd.Process.Pid)
				p.environment = append(p.environment, "A_KEY=secret-1234")
				config := filepath.Join(p.own, "config.toml")
				if err := os.WriteFile(config, []byte("[[server]]\nkind = \""+kind+"\"\nkey_env = \"A_KEY\"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				release, name := strings.TrimPrefix(filepath.Base(site), kind+"-"), map[string]string{"vllm": "vLLM ", "sglang": "SGLang "}[kind]
				var said string
				begun := "dry run: " + name + release
				eventually(func() bool {
					out, err := p.vramscope("flush", pid, "--level", "sleep", "--dry-run", "--config", config)
					said = string(out)
					if err != nil {
						said = err.Error()
					}
					return strings.Contains(said, begun)
				})
				if !strings.Contains(said, begun) {
					t.Fatal(said)
				}
				for range 2 {
					asks(t, p, "flushed", 8<<30, "flush", pid, "--level", "sleep", "--yes", "--format", "json", "--config", config)
					asks(t, p, "woken", -8<<30, "resume", pid, "--yes", "--format", "json", "--config", config)
				}
			}
		})
	}
}

// asks runs a command of vramscope, and checks its outcome and the bytes that it frees.
func asks(t *testing.T, p *program, outcome string, freed int64, arguments ...string) {
	t.Helper()
	out, err := p.vramscope(arguments...)
	var doc schema.FlushDocument
	if err == nil {
		err = json.Unmarshal(out, &doc)
	}
	if f := &doc.Flush; err != nil || f.Outcome != outcome || int64(f.FreedBytes) != freed {
		t.Fatalf("%s: %s, freed %s, want %s, %d; %v", arguments[0], f.Outcome, f.FreedBytes, outcome, freed, err)
	}
}
