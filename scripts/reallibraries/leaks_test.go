//go:build linux && cgo

package reallibraries

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vramscope/internal/needs"
	"vramscope/memoryviz"
)

// TestLeaks runs leaks_job.py: two recordings of a real training loop with ten leaks show the lines
// of all ten, and no other line that grew by two blocks or more.
func TestLeaks(t *testing.T) {
	needs.Tool(t, "python3")
	vramscope := needs.Vramscope(t)
	for _, site := range releases(t, "torch") {
		t.Run(filepath.Base(site), func(t *testing.T) {
			t.Parallel()
			p := box(t, job{vramscope: vramscope, site: site})
			cmd := exec.Command(vramscope, "run", "--", "python3", "leaks_job.py")
			cmd.Env = append(p.environment, "PYTHONPATH="+site, "PYTHONDONTWRITEBYTECODE=1", "VRAMSCOPE_PROBE_DEBUG=1", "XDG_STATE_HOME="+t.TempDir())
			cmd.Stderr = os.Stderr
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = in.Close() // the program ends
				if err := cmd.Wait(); err != nil {
					t.Error(err)
				}
			}()
			said := bufio.NewScanner(out)
			said.Scan()
			first := said.Text()
			directory := t.TempDir()
			ask := func(args ...string) []byte {
				ask := exec.Command(vramscope, args...)
				ask.Env, ask.Stderr = cmd.Env, os.Stderr
				answer, err := ask.Output()
				if err != nil {
					t.Fatalf("%v: %v\n%s", args, err, answer)
				}
				return answer
			}
			// The program trains while it is recorded.
			record := func(name string) string {
				file, over, trained := filepath.Join(directory, name), make(chan bool), make(chan bool)
				go func() {
					defer close(trained)
					for {
						select {
						case <-over:
							return
						default:
							_, _ = in.Write([]byte("\n")) // an ended program shows in the next answer
							said.Scan()
						}
					}
				}()
				t.Logf("%s", ask("snapshot", strconv.Itoa(cmd.Process.Pid), "--record", "--steps", "5", "--yes", "-o", file))
				close(over)
				<-trained
				return file
			}
			before := record("before")
			var doc memoryviz.GrowthDocument
			if err := json.Unmarshal(ask("snapshot", "diff", "--format", "json", before, record("after")), &doc); err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, l := range doc.Lines {
				if n, ok := l.At.Line.Value(); ok && l.Blocks > 1 { // a single block may belong to the step that was interrupted
					lines = append(lines, strconv.Itoa(n))
				}
				t.Logf("%s: %s in %d blocks", l.At, l.Grown, l.Blocks)
			}
			slices.Sort(lines)
			if want := strings.Fields(first); len(want) != 10 || !slices.Equal(lines, want) {
				t.Errorf("%v grew, and %v leak", lines, want)
			}
		})
	}
}
