package socket

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// older returns what the daemon of commit 9b14e9a9, of 22 November 2026, was asked on a
// simulated box of one GPU, and its answers.
func older(t *testing.T) (requests, answers []string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "older.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(content)), "\n") {
		if i%2 == 0 {
			requests = append(requests, line)
		} else {
			answers = append(answers, line)
		}
	}
	return requests, answers
}

// TestOlderDaemon: this monitor reads what an older daemon answers.
func TestOlderDaemon(t *testing.T) {
	requests, answers := older(t)
	directory := t.TempDir()
	if err := os.Chmod(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(directory, Name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		theirs, err := listener.Accept()
		if err != nil {
			return
		}
		in := bufio.NewScanner(theirs)
		for in.Scan() {
			var asked request
			if json.Unmarshal(in.Bytes(), &asked) != nil {
				return
			}
			for i := range requests {
				if strings.Contains(requests[i], `"cmd": "`+asked.Cmd+`"`) {
					_, rest, _ := strings.Cut(answers[i], ",")
					_, _ = fmt.Fprintf(theirs, "{\"id\":%d,%s\n", asked.ID, rest)
				}
			}
		}
	}()
	c, err := Dial(t.Context(), []Place{{directory, uint32(os.Geteuid())}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if !c.Status().Simulated || c.Status().IntervalNS != int64(time.Second) {
		t.Errorf("%+v", c.Status())
	}
	var reports answer
	if err := c.ask(t.Context(), &request{Cmd: cmdReports}, &reports); err != nil || len(reports.Processes) != 8 ||
		len(reports.Processes[0].Devices) != 1 || reports.Processes[0].Runtimes[0].Name != "PyTorch" {
		t.Errorf("reports: %+v, %v", reports.Processes, err)
	}
	var got answer
	if err := c.ask(t.Context(), &request{Cmd: cmdSnapshot}, &got); err != nil {
		t.Fatal(err)
	}
	snap := got.Snapshot.Snapshot()
	if len(snap.GPUs) != 1 || snap.GPUs[0].Memory.Used.Or(0) == 0 || len(snap.Rows) != 1 || !snap.Rows[0].Returnable.Known() || snap.Rows[0].User != "bob" {
		t.Errorf("%+v", snap)
	}
	var series answer
	if err := c.ask(t.Context(), &request{Cmd: cmdSeries}, &series); err != nil || len(series.Points) != 10 {
		t.Errorf("%+v, %v", series.Points, err)
	}
	if _, err := c.Guard(t.Context()); !refused(err) {
		t.Errorf("a guard: %v", err)
	}
}

// TestOlderMonitor: this daemon answers what an older monitor asks.
func TestOlderMonitor(t *testing.T) {
	requests, answers := older(t)
	b := newBox()
	directory, _ := serve(t, b, mustShare(t, "all"))
	conn := connect(t, directory)
	in := bufio.NewReader(conn)
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	for i, asked := range requests {
		if _, err := fmt.Fprintln(conn, asked); err != nil {
			t.Fatal(err)
		}
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var was, is map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &is); err != nil || json.Unmarshal([]byte(answers[i]), &was) != nil {
			t.Fatal(err)
		}
		if string(is["ok"]) != string(was["ok"]) {
			t.Errorf("%s is answered %s, was %s", asked, line, answers[i])
		}
		for key := range was {
			if _, there := is[key]; !there {
				t.Errorf("%s is answered without %q: %.200s", asked, key, line)
			}
		}
	}
}
