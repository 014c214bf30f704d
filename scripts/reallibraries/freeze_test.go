//go:build linux && cgo

package reallibraries

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

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
)

const (
	slowCall = 2 * time.Second
	// mostLost is the longest time for which the other threads may stand still. Some milliseconds are
	// usual, and more on a loaded machine, where the thread that holds the GIL may have no processor.
	// A question that waits for the allocator's lock stops them for the rest of the call: 0.8 s to 1 s.
	mostLost = 500 * time.Millisecond
)

// TestQuestionsDoNotFreeze asks a program for its stats while one of its threads is
// inside a slow cudaMalloc or cudaFree. The program's other threads must run on, and the
// probe must answer in time with the last figures.
func TestQuestionsDoNotFreeze(t *testing.T) {
	beyondCore(t)
	sites, vramscope := releases(t, "torch"), needs.Vramscope(t)
	for _, site := range sites {
		t.Run(filepath.Base(site), func(t *testing.T) {
			p := startFreezing(t, vramscope, site)
			for _, call := range []string{"cudaMalloc", "cudaFree"} {
				for _, interval := range []time.Duration{0, time.Second, 200 * time.Millisecond} {
					t.Run(fmt.Sprintf("%s asked every %v", call, interval), func(t *testing.T) {
						p.check(t, call, interval)
					})
				}
			}
		})
	}
}

// freezing is freeze_job.py, on a driver that can be made slow.
type freezing struct {
	*program
	box   fakedriver.State
	state string
}

func startFreezing(t *testing.T, vramscope, site string) *freezing {
	t.Helper()
	p := &freezing{program: start(t, job{vramscope: vramscope, site: site, command: []string{"python3", "freeze_job.py"}})}
	for _, setting := range p.environment {
		if path, ok := strings.CutPrefix(setting, "VRAMSCOPE_FAKE_STATE="); ok {
			p.state = path
		}
	}
	p.box = fakedriver.Box(gpus, 0)
	p.box.Driver = fakedriver.RuntimeDriver()
	return p
}

// check measures what a slow call costs the other threads while a monitor asks every interval, or
// while none asks (0).
func (p *freezing) check(t *testing.T, call string, interval time.Duration) {
	p.must("prepare", nil, new(any))
	p.box.Hang(map[string]string{"cudaMalloc": "cuMemAlloc_v2", "cudaFree": "cuMemFree_v2"}[call], slowCall)
	p.box.MustWrite(t, p.state)
	defer func() {
		p.box.Heal()
		p.box.MustWrite(t, p.state)
	}()
	time.Sleep(50 * time.Millisecond) // frequent calls notice the new state after a tick of the kernel's clock
	stop, asked := make(chan struct{}), make(chan []time.Duration, 1)
	go func() { asked <- p.stats(t, interval, stop) }()
	var result struct{ Took, Lost float64 }
	p.must("during", map[string]any{"call": call}, &result)
	close(stop)
	latest := time.Duration(0)
	answers := <-asked
	for _, took := range answers {
		latest = max(latest, took)
	}
	t.Logf("the other thread lost %.0f of %.0f ms; %d answers, the latest after %.0f ms",
		result.Lost, result.Took, len(answers), latest.Seconds()*1000)
	if result.Took < slowCall.Seconds()*1000 {
		t.Errorf("the call took %.0f ms only", result.Took)
	}
	if result.Lost > mostLost.Seconds()*1000 {
		t.Errorf("the other thread stood still for %.0f ms", result.Lost)
	}
	if interval > 0 && (len(answers) == 0 || latest > slowCall/2) {
		t.Errorf("%d answers, the latest after %v", len(answers), latest)
	}
}

// stats asks the probe until it is stopped, and returns how long each answer took.
// Without an interval it does not ask.
func (p *freezing) stats(t *testing.T, interval time.Duration, stop <-chan struct{}) (answers []time.Duration) {
	if interval == 0 {
		return nil
	}
	connection, lines, err := p.connect()
	if err != nil {
		t.Error(err)
		return nil
	}
	defer connection.Close()
	for {
		select {
		case <-stop:
			return answers
		case <-time.After(interval):
		}
		began := time.Now()
		if _, err := connection.Write([]byte(`{"id":1,"cmd":"stats"}` + "\n")); err != nil || !lines.Scan() {
			t.Errorf("no answer: %v, %v", err, lines.Err())
			return answers
		}
		var answer struct {
			OK    bool
			Error struct{ Code string }
		}
		if err := json.Unmarshal(lines.Bytes(), &answer); err != nil || !answer.OK && answer.Error.Code != "busy" {
			t.Errorf("%v in %s", err, lines.Text())
		}
		answers = append(answers, time.Since(began))
	}
}

// connect waits for the probe's socket.
func (p *freezing) connect() (net.Conn, *bufio.Scanner, error) {
	directory := filepath.Join(p.own, "vramscope")
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		entries, _ := os.ReadDir(directory) // made by the probe
		for _, entry := range entries {
			if !strings.HasSuffix(entry.Name(), ".sock") {
				continue
			}
			if connection, err := net.Dial("unix", filepath.Join(directory, entry.Name())); err == nil {
				return connection, bufio.NewScanner(connection), nil
			}
		}
	}
	return nil, nil, fmt.Errorf("no probe in %s", directory)
}
