//go:build linux

package probe

import (
	"errors"
	"os"
	"strings"
	"testing"

	"vramscope/internal/quantity"
)

func TestClientReadsStatsAndFlushes(t *testing.T) {
	client := dial(t, start(t, newPool()))
	if id := client.process; id.PID != os.Getpid() || id.Foreign() {
		t.Errorf("the peer is %+v", id)
	}
	hello, err := client.Hello(soon(t))
	if err != nil || hello.Proto != Version || hello.PID != os.Getpid() || hello.Runtimes[0].Name != "Pool" {
		t.Fatalf("hello: %+v, %v", hello, err)
	}
	report, err := client.Stats(soon(t))
	if err != nil || *report.Devices[0].Allocators[0].CachedBytes != 4*quantity.GiB || report.TimeNS == 0 {
		t.Fatalf("stats: %+v, %v", report, err)
	}
	dry, err := client.Flush(soon(t), FlushRequest{Level: Gradual, KeepBytes: quantity.GiB, DryRun: true})
	if err != nil || dry.Devices[0].FreedBytes != 3*quantity.GiB || !dry.DryRun {
		t.Fatalf("dry run: %+v, %v", dry, err)
	}
	done, err := client.Flush(soon(t), FlushRequest{Level: Urgent, Devices: []string{testUUID}})
	if err != nil || done.Devices[0].BeforeBytes != 10*quantity.GiB || done.Devices[0].AfterBytes != 6*quantity.GiB || done.Devices[0].FreedBytes != 4*quantity.GiB {
		t.Fatalf("flush: %+v, %v", done, err)
	}
}

func TestConcurrentFlushIsRefused(t *testing.T) {
	p := newPool()
	p.hold, p.flushing = make(chan struct{}), make(chan struct{})
	server := start(t, p)
	first, second := dial(t, server), dial(t, server)
	done := make(chan error, 1)
	go func() {
		_, err := first.Flush(soon(t), FlushRequest{Level: Urgent})
		done <- err
	}()
	<-p.flushing
	_, err := second.Flush(soon(t), FlushRequest{Level: Urgent})
	if refused := new(Error); !errors.As(err, &refused) || refused.Code != Busy {
		t.Errorf("a second flush: %v", err)
	}
	close(p.hold)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestFlushesAreRateLimited(t *testing.T) {
	client := dial(t, start(t, newPool()))
	for i := range 2 * flushBurst {
		_, err := client.Flush(soon(t), FlushRequest{Level: Gradual})
		if err == nil {
			continue
		}
		if refused := new(Error); !errors.As(err, &refused) || refused.Code != RateLimited || i < flushBurst {
			t.Fatalf("flush %d: %v", i, err)
		}
		if !strings.Contains(err.Error(), "again in") {
			t.Errorf("no waiting time in %v", err)
		}
		return
	}
	t.Errorf("%d flushes in a row all succeeded", 2*flushBurst)
}
