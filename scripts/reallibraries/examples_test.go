//go:build linux && cgo

package reallibraries

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"vramscope/internal/needs"
)

// TestExamples runs contrib/examples: their caches show with their sizes, a selective
// flush frees them by the driver's figures, and the program continues.
func TestExamples(t *testing.T) {
	needs.Tool(t, "python3")
	sites, vramscope := releases(t, "torch"), needs.Vramscope(t)
	examples := map[string]struct {
		cache string
		bytes int64
	}{
		"kv_cache.py":        {"KV cache", 8 * 32 * 2 * 8 * 4096 * 128 * 2},
		"embedding_cache.py": {"embeddings", 1 << 20 * 256 * 4},
		"dataset_cache.py":   {"dataset", 4 * 64 * 3 * 512 * 512 * 4},
	}
	for _, site := range sites {
		for name, want := range examples {
			t.Run(filepath.Base(site)+"/"+name, func(t *testing.T) {
				own, err := os.MkdirTemp("", "real-") // short enough for sockets
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = os.RemoveAll(own) }) // an error leaves files in the temporary directory only
				environ := append(append(os.Environ(), onFakeDriver(t, site)...), "PYTHONPATH="+site, "XDG_RUNTIME_DIR="+own, "XDG_STATE_HOME="+own, "XDG_CONFIG_HOME="+own)
				program := exec.CommandContext(t.Context(), vramscope, "run", "--", "python3", filepath.Join("..", "..", "contrib", "examples", name))
				program.Env, program.Stderr = environ, os.Stderr
				out, err := program.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := program.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					_ = program.Process.Kill() // it never ends by itself
					_ = program.Wait()
				})
				if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
					t.Fatalf("%q, %v", line, err)
				}
				ask := func(into any, arguments ...string) {
					cmd := exec.CommandContext(t.Context(), vramscope, arguments...)
					cmd.Env = environ
					answer, err := cmd.Output()
					if err == nil {
						err = json.Unmarshal(answer, into)
					}
					if err != nil {
						t.Fatalf("%v: %v: %s", arguments, err, answer)
					}
				}
				var seen struct {
					GPUs []struct {
						Processes []struct {
							Evictable []struct {
								Name  string
								Bytes int64
							}
						}
					}
				}
				eventually(func() bool {
					ask(&seen, "once", "--format", "json")
					return len(seen.GPUs[0].Processes) == 1 && len(seen.GPUs[0].Processes[0].Evictable) == 1 && seen.GPUs[0].Processes[0].Evictable[0].Bytes == want.bytes
				})
				if p := seen.GPUs[0].Processes; len(p) != 1 || len(p[0].Evictable) != 1 || p[0].Evictable[0].Name != want.cache || p[0].Evictable[0].Bytes != want.bytes {
					t.Fatalf("its caches are %+v, want %+v", p, want)
				}
				var flushed struct {
					Flush struct {
						Devices []struct {
							Freed  int64 `json:"freed_bytes"`
							Driver int64 `json:"driver_freed_bytes"`
						}
					}
				}
				pid := strconv.Itoa(program.Process.Pid)
				ask(&flushed, "flush", pid, "--level", "selective", "--yes", "--format", "json")
				if d := flushed.Flush.Devices; len(d) != 1 || d[0].Freed < want.bytes || d[0].Driver < want.bytes {
					t.Errorf("the flush freed %+v, of %d", d, want.bytes)
				}
				ask(&seen, "once", "--format", "json")
				if len(seen.GPUs[0].Processes) != 1 {
					t.Error("the program has ended")
				}
			})
		}
	}
}
