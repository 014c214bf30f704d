package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"vramscope/internal/fakedriver"
	"vramscope/probe"
)

// ready is the script command "ready": it waits until a liar has written its PID, and sets $PID to it.
func ready(ts *testscript.TestScript, _ bool, _ []string) {
	name := filepath.Join(ts.Getenv("WORK"), "pid")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if content, err := os.ReadFile(name); err == nil && len(content) > 0 {
			ts.Setenv("PID", string(content))
			ts.Check(os.Remove(name))
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no liar is ready")
		}
	}
}

// liar is a process that uses 13 GiB of a GPU, by the driver, and whose probe
// answers what the file says. It is the only process on the only GPU of the
// script's box.
//
//	liar FILE [hidden]    hidden: the driver does not report what it uses
type liar struct {
	Said struct {
		probe.Hello
		Allocators []probe.Allocator `json:"allocators"`
		Flush      *probe.Flushed    `json:"flush"` // its UUID is the GPU's
		Segments   []probe.Segment   `json:"segments"`
		TimeOffset int64             `json:"time_offset_seconds"`
	}
	uuid string
}

func beLiar() {
	if err := lie(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "liar:", err)
		os.Exit(1)
	}
}

func lie(args []string) error {
	state := fakedriver.Box(1, 0)
	g := &state.GPUs[0]
	g.Start(fakedriver.NewProcess(uint64(os.Getpid()), 13<<30))
	g.HideProcessMemory = len(args) > 1
	if err := state.Write(os.Getenv("VRAMSCOPE_FAKE_STATE")); err != nil {
		return err
	}
	l := &liar{uuid: g.UUID}
	content, err := os.ReadFile(args[0])
	if err == nil {
		err = json.Unmarshal(content, &l.Said)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return serveProbe(ctx, l.answer, func() error {
		return os.WriteFile(filepath.Join(os.Getenv("WORK"), "pid"), []byte(strconv.Itoa(os.Getpid())), 0o600)
	})
}

func (l *liar) answer(cmd string, file *os.File) (any, error) {
	switch cmd {
	case "hello":
		return ofThisProcess(l.Said.Hello)
	case "stats":
		now := time.Now().Add(time.Duration(l.Said.TimeOffset) * time.Second)
		return probe.Report{TimeNS: now.UnixNano(), Devices: []probe.Device{{UUID: l.uuid, Allocators: l.Said.Allocators}}}, nil
	case "flush":
		done := *l.Said.Flush
		done.UUID, done.FreedBytes = l.uuid, done.BeforeBytes-done.AfterBytes
		return probe.FlushResult{Devices: []probe.Flushed{done}}, nil
	case "snapshot":
		m := probe.Segments{Schema: probe.SegmentsSchema, TimeNS: time.Now().UnixNano(), Devices: []probe.DeviceSegments{{UUID: l.uuid, Segments: l.Said.Segments}}}
		content, err := json.Marshal(m)
		if err == nil {
			_, err = file.WriteAt(content, 0)
		}
		return probe.SnapshotResult{Format: probe.SegmentsSchema, Bytes: int64(len(content))}, err
	}
	return nil, &probe.Error{Code: probe.UnknownCommand}
}
