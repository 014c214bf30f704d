package ui

import (
	"strings"
	"testing"

	"vramscope/action/flush"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/uitest"
)

func TestFlushOfAPoolThatWasNeverFlushed(t *testing.T) {
	_, d := askedToFlush(drawnLook(t), func(p *snapshot.Process) {
		if p.ID.Process.PID == snapshottest.Leaking {
			a := &p.Allocators[0]
			a.Kind, a.Basis, a.Fragmented, p.Fragmented = "cuda_pool", "post_flush", snapshot.Bytes{}, snapshot.Bytes{}
			p.Runtime, p.Evictable = "CUDA", nil
		}
	}, snapshottest.Leaking)
	got := shownText(d)
	for _, want := range []string{
		"frees about 11.8G", "gradual    about 11.8G in steps; Esc stops between two of them",
		"selective  about 11.8G at once; no caches to evict", "what else it can collect",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestFlushOfAPoolThatCountsAllAsUsed: a flush may free memory that streams have not yet freed, and
// nothing shows how much.
func TestFlushOfAPoolThatCountsAllAsUsed(t *testing.T) {
	used := func(p *snapshot.Process) {
		if p.ID.Process.PID == snapshottest.Leaking {
			a := &p.Allocators[0]
			a.Kind, a.Basis, a.Allocated, a.Cached, a.Returnable = "cuda_pool", "post_flush", a.Reserved, uitest.Known(0), snapshot.Bytes{}
			p.Allocated, p.Cached, p.Returnable = a.Reserved, a.Cached, snapshot.Bytes{}
			p.Runtime, p.Evictable = "CUDA", nil
		}
	}
	_, d := askedToFlush(drawnLook(t), used, snapshottest.Leaking)
	if got := shownText(d); !strings.Contains(got, "frees an unknown amount") || d.Level() != flush.Gradual || strings.Contains(got, "about 0") {
		t.Errorf("%s:\n%s", d.Level(), got)
	}
	_, d = askedToFlush(drawnLook(t), used, snapshottest.Leaking, 2701455)
	for _, want := range []string{
		"2963112 carol      3 70.6G     –     –     –  finetune.py", "sum                      6.20G 6.20G", "gradual    about 6.20G ",
	} {
		if got := shownText(d); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
