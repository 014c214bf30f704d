package cli

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
)

// TestOnceAsksForWhatItPrints counts the driver calls of one snapshot, and the files that it opens
// for each process.
func TestOnceAsksForWhatItPrints(t *testing.T) {
	if !haveCgo() {
		t.Skip("without cgo no driver is read")
	}
	needs.Tool(t, "strace")
	const gpus, processes = 2, 8
	state := fakedriver.Box(gpus, processes)
	for i := range state.GPUs {
		for j := range state.GPUs[i].Processes {
			state.GPUs[i].Processes[j].Command = []string{"python", "train.py"}
		}
	}
	population, err := fakedriver.Populate(&state)
	if err != nil {
		t.Fatal(err)
	}
	defer population.Close()
	dir := t.TempDir()
	state.MustWrite(t, filepath.Join(dir, "state"))
	environment := append(fakedriver.Environment(fakedriver.Build(t, fakedriver.Current), filepath.Join(dir, "state")),
		asVramscope+"="+everywhere, "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+dir)

	// For each GPU: 8 calls to identify it, 13 for a line, 4 more for a table with its processes,
	// NVLink's 18 links and 16 more for JSON. For the driver: 5. For each process: to search for
	// its probe stat, ns/pid, status, uid_map, root, environ; for the table stat, ns/pid, the
	// directory, cgroup, cmdline, environ.
	for flag, most := range map[string]struct{ calls, files int }{
		"--line": {5 + gpus*21, 0}, "--format=table": {5 + gpus*25, 12}, "--format=json": {5 + gpus*59, 12},
	} {
		t.Run(flag, func(t *testing.T) {
			count, trace := filepath.Join(t.TempDir(), "count"), filepath.Join(t.TempDir(), "trace")
			cmd := exec.Command("strace", "-f", "-qq", "-e", "trace=open,openat,openat2,stat,newfstatat,readlink,readlinkat", "-o", trace,
				os.Args[0], "once", flag)
			cmd.Env = append(append(os.Environ(), environment...), "VRAMSCOPE_FAKE_COUNT="+count)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			raw, err := os.ReadFile(count)
			if err != nil || len(raw) != 8 {
				t.Fatalf("%d bytes: %v", len(raw), err)
			}
			if calls := int(binary.NativeEndian.Uint64(raw)); calls > most.calls {
				t.Errorf("%d calls of the driver, want at most %d", calls, most.calls)
			}
			traced, err := os.ReadFile(trace)
			if err != nil {
				t.Fatal(err)
			}
			for _, gpu := range state.GPUs {
				for _, p := range gpu.Processes {
					files := filesOf(string(traced), int(p.PID))
					if len(files) > most.files || len(files) == 0 && most.files > 0 {
						t.Errorf("PID %d: %d files, want at most %d: %s", p.PID, len(files), most.files, strings.Join(files, " "))
					}
				}
			}
		})
	}
}

// filesOf returns the names under /proc/PID in the output of strace.
func filesOf(trace string, pid int) []string {
	var files []string
	for _, found := range regexp.MustCompile(`"/proc/`+strconv.Itoa(pid)+`(?:/([^"]*))?"`).FindAllStringSubmatch(trace, -1) {
		files = append(files, found[1])
	}
	return files
}
