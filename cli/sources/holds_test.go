package sources

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// TestHoldsOfAProcessThatHasExitedAreRefused: when the driver is read, another process can have its PID.
func TestHoldsOfAProcessThatHasExitedAreRefused(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	proc, pid := t.TempDir(), strconv.Itoa(os.Getpid())
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(proc, pid, "stat")
	for _, err := range []error{os.MkdirAll(filepath.Join(proc, pid, "ns"), 0o755), os.WriteFile(path, stat, 0o600), os.Symlink("/proc/self/ns/pid", filepath.Join(proc, pid, "ns/pid"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	table := process.NewTable(proc)
	src := &Set{Table: table, holds: holdsFrom(probe.NewFinder(table))}
	answerHolds(t, src.Table)
	look := func() *snapshot.Snapshot { return &snapshot.Snapshot{} }
	if held, err := src.Holds(t.Context(), os.Getpid(), look); err != nil || !held.Exact {
		t.Fatalf("%+v, %v", held, err)
	}
	_, err = src.Holds(t.Context(), os.Getpid(), func() *snapshot.Snapshot {
		fields := strings.Fields(string(stat))
		fields[len(fields)-31] += "7" // of 52: the start time
		if err := os.WriteFile(path, []byte(strings.Join(fields, " ")), 0o600); err != nil {
			t.Error(err)
		}
		return look()
	})
	if err == nil || err.Error() != "refused: PID "+pid+" has exited" {
		t.Errorf("%v", err)
	}
}

// answerHolds serves a probe in this process, which answers that nothing holds memory.
func answerHolds(t *testing.T, table *process.Table) {
	t.Helper()
	id, err := table.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	place, err := probe.OwnPlace()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	hello, _ := json.Marshal(probe.Hello{Proto: probe.Version, PID: os.Getpid(), StartTime: id.StartTime, Runtimes: []probe.Runtime{}, Capabilities: []string{}})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			for n, in := 1, bufio.NewScanner(conn); in.Scan(); n++ {
				fields := strings.TrimPrefix(string(hello), "{")
				if strings.Contains(in.Text(), "holds") {
					fields = fmt.Sprintf(`"time_ns":%d,"exact":true,"devices":[]}`, time.Now().UnixNano())
				}
				_, _ = fmt.Fprintf(conn, `{"id":%d,"ok":true,%s`+"\n", n, fields)
			}
		}
	}()
}
