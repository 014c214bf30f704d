//go:build linux && cgo

package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"vramscope/internal/quantity"
)

// sudden allocates 18 GiB at once and frees them into its cache when it reads "take", and empties its
// cache when it reads another line.
const sudden = `
import sys, torch
GIB = 1 << 30
live = torch.empty(GIB, 0)
print("ready", flush=True)
for line in sys.stdin:
    if line == "take\n":
        taken = torch.empty(18 * GIB, 0)
        del taken
    else:
        torch.cuda.empty_cache()
    print("done", flush=True)
`

// TestOtherMemoryIsOfOneMoment: a snapshot soon after a large allocation, by once or by a running
// stream, never shows that memory as other. With VRAMSCOPE_FULL the test tries 100 times.
func TestOtherMemoryIsOfOneMoment(t *testing.T) {
	t.Parallel()
	b, times := newProbeBox(t, 1), 8
	if os.Getenv("VRAMSCOPE_FULL") != "" {
		times = 100
	}
	fake, err := filepath.Abs("../probe/agent/testdata/fake")
	if err != nil {
		t.Fatal(err)
	}
	cmd := b.command("run", "--", pythonWith(t, "sys"), "-c", sudden)
	cmd.Env = append(slices.Clone(b.environ), "PYTHONPATH="+fake, "FAKE_TORCH_DRIVER=1", "PYTHONDONTWRITEBYTECODE=1")
	job := begin(t, cmd)
	tell := func(what string) {
		t.Helper()
		if _, err := io.WriteString(job.in, what+"\n"); err != nil {
			t.Fatal(err)
		}
		readUntil(t, job.out, "done")
	}
	awaitRow(t, b, cmd.Process.Pid)

	stream := b.command("stream", "--interval", "200ms")
	lines, err := stream.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Start(); err != nil {
		t.Fatal(err)
	}
	streamed := make(chan [2]int, 1)
	go func() {
		var counted [2]int
		for in := bufio.NewReader(lines); ; {
			line, err := in.ReadBytes('\n')
			if err != nil {
				streamed <- counted
				return
			}
			tally(t, "stream", line, &counted)
		}
	}()
	var counted [2]int
	for i := range times {
		tell("take")
		time.Sleep(time.Duration(i%5) * 100 * time.Millisecond)
		out, err := b.command("once", "--format", "json").Output()
		if err != nil {
			t.Fatal(err)
		}
		tally(t, "once", out, &counted)
		tell("give")
	}
	_ = stream.Process.Signal(syscall.SIGTERM) // Wait says how it ended
	counts := <-streamed
	if err := stream.Wait(); err != nil {
		t.Logf("stream: %v", err)
	}
	t.Logf("other is right in %d of %d by once, in %d of %d lines of stream", counted[1], counted[0], counts[1], counts[0])
	if counted[1] == 0 || counts[1] == 0 {
		t.Errorf("other is never known: of once %d, of stream %d", counted[0], counts[0])
	}
	if err := job.end(); err != nil || job.said.Len() > 0 {
		t.Errorf("the job ended with %v\n%s", err, job.said.String())
	}
}

// tally counts the rows of a document, and the rows in which other memory is known. Other memory must be the
// context alone, without memory of the allocator.
func tally(t *testing.T, by string, document []byte, counted *[2]int) {
	var doc struct {
		GPUs []struct {
			Processes []struct {
				Used   quantity.Bytes  `json:"used_bytes"`
				Cached *quantity.Bytes `json:"cached_bytes"`
				Other  *quantity.Bytes `json:"other_bytes"`
			}
		}
	}
	if err := json.Unmarshal(bytes.TrimSpace(document), &doc); err != nil {
		t.Errorf("%s: %v", by, err)
		return
	}
	for _, gpu := range doc.GPUs {
		for _, p := range gpu.Processes {
			counted[0]++
			if p.Other == nil {
				continue
			}
			counted[1]++
			if *p.Other < 0 || *p.Other > quantity.GiB {
				t.Errorf("%s: other is %v of %v used, with %v cached", by, *p.Other, p.Used, p.Cached)
			}
		}
	}
}
