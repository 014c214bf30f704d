//go:build linux

package probe_test

import (
	"context"
	"io"
	"os"
	"testing"

	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/probe/conformance"
)

const vectors = "testdata/conformance"

// speaker is a handler that can flush, or cannot.
type speaker struct{ able bool }

func (s speaker) Hello() probe.Hello {
	if !s.able {
		return probe.Hello{}
	}
	held := 2 * quantity.GiB
	return probe.Hello{Runtimes: []probe.Runtime{{Name: "Test"}}, Capabilities: []string{"flush", "snapshot"},
		Evictable: []probe.Evictable{{Name: "sized", Priority: 2, Bytes: &held}, {Name: "unsized", Priority: 1}}}
}

func (s speaker) Stats(context.Context) (probe.Report, error) {
	reserved, allocated := 3*quantity.GiB, 2*quantity.GiB
	return probe.Report{Devices: []probe.Device{{UUID: "GPU-1", Allocators: []probe.Allocator{
		{Kind: "raw", ReservedBytes: &reserved, AllocatedBytes: &allocated},
	}}}}, nil
}

func (s speaker) Flush(context.Context, probe.FlushRequest) (probe.FlushResult, error) {
	if !s.able {
		return probe.FlushResult{}, &probe.Error{Code: probe.Unsupported, Message: "nothing is cached"}
	}
	return probe.FlushResult{Devices: []probe.Flushed{{UUID: "GPU-1", BeforeBytes: 3, AfterBytes: 2}}}, nil
}

func (s speaker) Snapshot(_ context.Context, r probe.SnapshotRequest, w io.Writer) (probe.SnapshotResult, error) {
	if !s.able || r.Format != probe.SegmentsFormat {
		return probe.SnapshotResult{}, &probe.Error{Code: probe.Unsupported, Message: "there are no segments"}
	}
	_, err := io.WriteString(w, `{"schema":"vramscope/segments/1","time_ns":1,"devices":[]}`)
	return probe.SnapshotResult{Format: probe.SegmentsSchema}, err
}

func TestGoServerConforms(t *testing.T) {
	for name, able := range map[string]bool{"with flush": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			server, err := probe.Listen(probe.ServerOptions{Directories: []string{t.TempDir() + "/vramscope"}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- server.Serve(ctx, speaker{able}) }()
			conformance.Run(t, vectors, server.Path())
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestServerAtAddressConforms tests any other server:
//
//	VRAMSCOPE_CONFORMANCE=/tmp/vramscope-1000/4711-190284.sock go test -run Address ./probe
func TestServerAtAddressConforms(t *testing.T) {
	socket := os.Getenv("VRAMSCOPE_CONFORMANCE")
	if socket == "" {
		t.Skip("VRAMSCOPE_CONFORMANCE is not set")
	}
	conformance.Run(t, vectors, socket)
}
