package nvml

import (
	"errors"
	"testing"
	"time"
)

func TestGate(t *testing.T) {
	var g gate
	if err := g.enter(); !errors.Is(err, ErrUninitialized) {
		t.Fatalf("a call before opening: %v", err)
	}
	if wasOpen, err := g.begin(); wasOpen || err != nil {
		t.Fatalf("first opening: %v %v", wasOpen, err)
	}
	if _, err := g.begin(); !errors.Is(err, ErrBusy) {
		t.Fatalf("opening while opening: %v", err)
	}
	if err := g.enter(); !errors.Is(err, ErrBusy) {
		t.Fatalf("a call while opening: %v", err)
	}
	g.end(true)
	for range 2 {
		if err := g.enter(); err != nil {
			t.Fatalf("a call while open: %v", err)
		}
	}
	g.leave()
	if _, err := g.begin(); !errors.Is(err, ErrBusy) {
		t.Fatalf("closing while a call is outstanding: %v", err)
	}
	g.leave()
	if err := g.enter(); err != nil {
		t.Fatalf("a short call while open: %v", err)
	}
	time.AfterFunc(5*time.Millisecond, func() { g.leave() })
	if wasOpen, err := g.begin(); !wasOpen || err != nil {
		t.Fatalf("closing when all calls are back: %v %v", wasOpen, err)
	}
	g.end(false)
	if err := g.enter(); !errors.Is(err, ErrUninitialized) {
		t.Fatalf("a call after closing: %v", err)
	}
}
