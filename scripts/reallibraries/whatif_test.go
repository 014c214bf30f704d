//go:build linux && cgo

package reallibraries

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"vramscope/internal/needs"
	"vramscope/internal/quantity"
	"vramscope/memoryviz/whatif"
)

// whatIfPrograms are those of whatif_job.py.
var whatIfPrograms = []string{"transformer", "batches", "server", "streams"}

// TestWhatIf: the replay of a program's allocations reserves what the program reserves that is run again under the
// settings, within .1 %, and runs out of memory where that does. VRAMSCOPE_REAL_TABLE has the figures written.
func TestWhatIf(t *testing.T) {
	beyondCore(t)
	needs.Tool(t, "python3")
	vramscope, tables := needs.Vramscope(t), ""
	for _, site := range releases(t, "torch") {
		release := strings.TrimPrefix(filepath.Base(site), "torch-")
		tables += fmt.Sprintf("\n## PyTorch %s\n\n| program | GPU | settings | the program | replayed | out of memory: program, replay |\n|---|---|---|---|---|---|\n", release)
		t.Run(release, func(t *testing.T) {
			p := box(t, job{vramscope: vramscope, site: site})
			environment := append(p.environment, "PYTHONPATH="+site, "PYTHONDONTWRITEBYTECODE=1", "PYTORCH_CUDA_ALLOC_CONF=")
			answer := func(name string, args ...string) []byte {
				cmd := exec.CommandContext(t.Context(), name, args...)
				cmd.Env, cmd.Stderr = environment, os.Stderr
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%s %q: %v\n%s", name, args, err, out)
				}
				return out
			}
			for _, program := range whatIfPrograms {
				directory := t.TempDir()
				answer(vramscope, "run", "--record-memory", directory, "--", "python3", "whatif_job.py", program)
				traces, err := filepath.Glob(directory + "/memory-*.pickle")
				if err != nil || len(traces) != 1 {
					t.Fatalf("%s: %q, %v", program, traces, err)
				}
				var room quantity.Bytes
				for range 2 { // on a large GPU, then on one that has three quarters of what it reserves there
					ask := []string{"what-if", traces[0], "--format", "json"}
					if room > 0 {
						ask = append(ask, "--memory", strconv.Itoa(int(room)))
					}
					var doc whatif.Document
					if err := json.Unmarshal(answer(vramscope, ask...), &doc); err != nil || len(doc.Devices) != 1 {
						t.Fatalf("%+v, %v", doc, err)
					}
					if reason := doc.Devices[0].Estimate; reason != nil {
						t.Errorf("%s: %s", program, *reason)
					}
					settings := whatif.Settings[:4] // the fifth does nothing without a limit
					truth := answer("python3", append([]string{"-W", "ignore", "whatif_job.py", program, strconv.Itoa(int(room))}, settings...)...)
					decoder := json.NewDecoder(bytes.NewReader(truth))
					for _, got := range doc.Devices[0].Results[:len(settings)] {
						var want whatif.Result
						if err := decoder.Decode(&want); err != nil || want.Settings != got.Settings {
							t.Fatalf("%+v, %+v: %v", got, want, err)
						}
						tables += whatIfRow(t, program, room, &want, &got)
					}
					room = doc.Devices[0].Results[0].Reserved * 3 / 4
				}
			}
		})
	}
	if path := os.Getenv("VRAMSCOPE_REAL_TABLE"); path != "" {
		head := "# What-if, measured\n\nThe most that PyTorch reserves, in bytes: of each program of `scripts/reallibraries/whatif_job.py`, run under each of the settings on the fake driver, and of the\n" +
			"replay of one run of it under the default. Written by `scripts/real-libraries --torch 2.15.0,2.4.1 --table`.\n"
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "what-if.md"), []byte(head+tables), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// whatIfRow compares a program's figures with its replay's, and returns their row of the table.
func whatIfRow(t *testing.T, program string, room quantity.Bytes, want, got *whatif.Result) string {
	t.Helper()
	size, failed := "large", *want.Failed
	if room > 0 {
		size = room.String()
		if *got.Failed != failed {
			t.Errorf("%s on %s, %q: out of memory: %t, and the replay %t", program, size, want.Settings, failed, *got.Failed)
		}
	} else if failed {
		t.Errorf("%s fails", program)
	}
	if off := want.Reserved - got.Reserved; max(off, -off)*1000 > want.Reserved {
		t.Errorf("%s on %s, %q: reserved %d, and the replay %d", program, size, want.Settings, want.Reserved, got.Reserved)
	}
	replayed := failed
	if got.Failed != nil {
		replayed = *got.Failed
	}
	words := map[bool]string{true: "yes", false: "no"}
	name := want.Settings
	if name == "" {
		name = "default"
	}
	return fmt.Sprintf("| %s | %s | `%s` | %d | %d | %s, %s |\n", program, size, name, want.Reserved, got.Reserved, words[failed], words[replayed])
}
