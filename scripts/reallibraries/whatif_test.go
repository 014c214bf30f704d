//go:build linux && cgo

package reallibraries

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vramscope/internal/needs"
	"vramscope/internal/quantity"
	"vramscope/memoryviz/whatif"
)

// The programs of whatif_job.py. The core runs one that empties its cache.
var (
	whatIfPrograms = []string{"transformer", "batches", "server", "streams", "gan", "checkpoints", "loader", "averages", "notebook", "llama"}
	whatIfSizes    = []string{"large", "¾"}
	whatIfCore     = []string{"batches"}
	whatIfLimited  = []string{"batches", "server"}
	whatIfSettings = append(slices.Clone(whatif.Settings), "expandable_segments:True,garbage_collection_threshold:0.6")
)

// whatIfBox runs programs with a release of PyTorch.
type whatIfBox struct {
	t           *testing.T
	vramscope   string
	environment []string
}

func (b *whatIfBox) answer(name string, args ...string) []byte {
	b.t.Helper()
	cmd := exec.CommandContext(b.t.Context(), name, args...)
	cmd.Env, cmd.Stderr = b.environment, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		b.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return out
}

// newWhatIfBox returns a box with a release of PyTorch, and with transformers if it is installed.
func newWhatIfBox(t *testing.T, vramscope, site string) *whatIfBox {
	t.Helper()
	p := box(t, job{vramscope: vramscope, site: site})
	transformers := filepath.Join(os.Getenv("VRAMSCOPE_REAL_LIBRARIES"), "transformers-4.46.3")
	return &whatIfBox{t, vramscope, append(p.environment, "PYTHONPATH="+site+":"+transformers, "PYTORCH_CUDA_ALLOC_CONF=", "PYTHONDONTWRITEBYTECODE=")}
}

// programs returns the programs whose libraries are installed.
func (b *whatIfBox) programs(all []string) []string {
	if found, err := filepath.Glob(filepath.Join(os.Getenv("VRAMSCOPE_REAL_LIBRARIES"), "transformers-*")); err != nil || len(found) == 0 {
		return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == "llama" })
	}
	return all
}

// trace runs a program once, under the default settings.
func (b *whatIfBox) trace(program string) string {
	b.t.Helper()
	directory := b.t.TempDir()
	b.answer(b.vramscope, "run", "--record-memory", directory, "--", "python3", "-W", "ignore", "whatif_job.py", program)
	return b.only(directory)
}

// only returns the one trace in a directory.
func (b *whatIfBox) only(directory string) string {
	b.t.Helper()
	traces, err := filepath.Glob(directory + "/memory-*.pickle")
	if err != nil || len(traces) != 1 {
		b.t.Fatalf("%q, %v", traces, err)
	}
	return traces[0]
}

// TestWhatIf: the replay of a program's allocations under other settings reserves as much, within
// .1 %, as the program itself when it runs again under these settings, and runs out of memory if the
// program does. With VRAMSCOPE_REAL_TABLE the test writes the figures to the page.
func TestWhatIf(t *testing.T) {
	needs.Tool(t, "python3")
	programs := whatIfPrograms
	if os.Getenv("VRAMSCOPE_REAL_CORE") != "" {
		programs = whatIfCore
	}
	vramscope, table := needs.Vramscope(t), whatIfTable{cells: map[[2]string]string{}}
	for _, site := range releases(t, "torch") {
		release := strings.TrimPrefix(filepath.Base(site), "torch-")
		table.releases = append(table.releases, release)
		t.Run(release, func(t *testing.T) {
			b := newWhatIfBox(t, vramscope, site)
			for _, program := range b.programs(programs) {
				trace, room := b.trace(program), quantity.Bytes(0)
				got, ask := []whatif.Result{}, []string{"-W", "ignore", "whatif_job.py", program}
				for range whatIfSizes { // a large GPU, then one with three quarters of what the program reserves there
					got = append(got, b.replay(trace, room, whatIfSettings...)...)
					for _, settings := range whatIfSettings {
						ask = append(ask, strconv.Itoa(int(room)), settings)
					}
					room = got[0].Reserved * 3 / 4
				}
				all := slices.Repeat(whatIfSettings, len(whatIfSizes))
				if slices.Contains(whatIfLimited, program) && strings.HasPrefix(release, "2.15.") { // older releases have no such setting
					limited, total := b.limited(got[0].Reserved)
					got, all = append(got, b.replay(trace, total, limited...)[1:]...), append(all, limited...)
					for _, settings := range limited {
						ask = append(ask, "0", settings)
					}
				}
				truth := json.NewDecoder(bytes.NewReader(b.answer("python3", ask...)))
				for i := range got {
					var want whatif.Result
					settings, size := all[i], slices.Concat(whatIfSizes, []string{"large"})[i/len(whatIfSettings)]
					if err := truth.Decode(&want); err != nil || want.Settings != settings || got[i].Settings != settings {
						t.Fatalf("%s: %+v, %+v: %v", program, got[i], want, err)
					}
					name := fmt.Sprintf("| %s | %s | `%s` |", program, size, cmp.Or(settings, "default"))
					if !slices.Contains(table.rows, name) {
						table.rows = append(table.rows, name)
					}
					table.cells[[2]string{name, release}] = table.compare(t, program+" on a GPU: "+size, &want, &got[i])
				}
				t.Logf("%s: %d of %d equal", program, table.equal, table.all)
			}
			if os.Getenv("VRAMSCOPE_REAL_CORE") == "" {
				withheld := exec.CommandContext(t.Context(), vramscope, "what-if", b.trace("graph"))
				withheld.Env = b.environment
				if out, err := withheld.CombinedOutput(); err == nil || !strings.Contains(string(out), "private pool") {
					t.Errorf("a captured graph: %v\n%s", err, out)
				}
			}
		})
		if path := os.Getenv("VRAMSCOPE_REAL_TABLE"); path != "" {
			if err := os.WriteFile(filepath.Join(filepath.Dir(path), "what-if.md"), []byte(table.text()), 0o644); err != nil {
				t.Error(err)
			}
		}
	}
}

// limited returns settings that limit a program to nine tenths of what it reserves, so that
// garbage_collection_threshold has an effect. total is the memory of the GPU: the settings give the
// limit as a fraction of it.
func (b *whatIfBox) limited(reserved quantity.Bytes) (settings []string, total quantity.Bytes) {
	b.t.Helper()
	said := b.answer("python3", "-c", "import torch; print(torch.cuda.get_device_properties(0).total_memory)")
	n, err := strconv.ParseInt(strings.TrimSpace(string(said)), 10, 64)
	if err != nil {
		b.t.Fatal(err)
	}
	limit := fmt.Sprintf("per_process_memory_fraction:%.6f", 0.9*float64(reserved)/float64(n))
	for _, with := range []string{"", "garbage_collection_threshold:0.6,", "expandable_segments:True,garbage_collection_threshold:0.6,"} {
		settings = append(settings, with+limit)
	}
	return settings, quantity.Bytes(n)
}

// replay returns what-if's answer, and checks that it is not an estimate.
func (b *whatIfBox) replay(trace string, room quantity.Bytes, settings ...string) []whatif.Result {
	b.t.Helper()
	ask := []string{"what-if", trace, "--format", "json"}
	for _, one := range settings {
		ask = append(ask, "--setting", one)
	}
	if room > 0 {
		ask = append(ask, "--memory", strconv.Itoa(int(room)))
	}
	var doc whatif.Document
	if err := json.Unmarshal(b.answer(b.vramscope, ask...), &doc); err != nil || len(doc.Devices) != 1 || len(doc.Devices[0].Results) < len(settings) {
		b.t.Fatalf("%s: %+v, %v", trace, doc, err)
	}
	if reason := doc.Devices[0].Estimate; reason != nil {
		b.t.Errorf("%s: %s", trace, *reason)
	}
	return doc.Devices[0].Results
}

type whatIfTable struct {
	releases           []string
	rows               []string             // the beginning of each row
	cells              map[[2]string]string // by row and release
	all, equal, failed int
}

// compare compares a program's figures with those of its replay. It returns both, or one if they are
// equal, as the text of a cell.
func (w *whatIfTable) compare(t *testing.T, program string, want, got *whatif.Result) string {
	t.Helper()
	if off := want.Reserved - got.Reserved; max(off, -off)*1000 > want.Reserved {
		t.Errorf("%s, %q: reserved %d, and the replay %d", program, want.Settings, want.Reserved, got.Reserved)
	}
	replayed := got.Failed != nil && *got.Failed
	if *want.Failed != replayed {
		t.Errorf("%s, %q: out of memory: %t, and the replay %t", program, want.Settings, *want.Failed, replayed)
	}
	w.all++
	cell := func(r quantity.Bytes, failed bool) string {
		return strconv.Itoa(int(r)) + map[bool]string{true: ", out of memory"}[failed]
	}
	first, second := cell(want.Reserved, *want.Failed), cell(got.Reserved, replayed)
	if first != second {
		return first + "; replayed " + second
	}
	w.equal++
	if replayed {
		w.failed++
	}
	return first
}

func (w *whatIfTable) text() string {
	text := "# What-if, measured\n\nThe most that PyTorch reserves, in bytes: of each program of `scripts/reallibraries/whatif_job.py`, run under each of the settings on the fake driver, on a\n" +
		"large GPU and on one that has three quarters of what it reserves there, and of the replay of one run of it under the default. One figure stands for both where they are equal.\n" +
		"Written by `scripts/real-libraries --torch 2.15.0,2.8.0,2.4.1 --transformers 4.46.3 --table`.\n" +
		"`per_process_memory_fraction`, a setting of the newest releases, limits the process to nine tenths of what it reserves on a large GPU: there `garbage_collection_threshold` acts.\n\n" +
		fmt.Sprintf("Equal to the byte: %d of %d, %d of them out of memory in both. –: not run.\n\n| program | GPU | settings | %s |\n|---|---|---|%s\n",
			w.equal, w.all, w.failed, strings.Join(w.releases, " | "), strings.Repeat("---|", len(w.releases)))
	for _, row := range w.rows {
		text += row
		for _, release := range w.releases {
			text += " " + cmp.Or(w.cells[[2]string{row, release}], "–") + " |"
		}
		text += "\n"
	}
	return text
}
