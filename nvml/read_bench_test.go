//go:build linux && cgo

package nvml

import (
	"path/filepath"
	"testing"

	"vramscope/internal/fakedriver"
)

// BenchmarkRead measures one reading of one GPU with eight processes, in steady state.
func BenchmarkRead(b *testing.B) {
	library := New(Options{LibraryPath: fakedriver.Build(b, fakedriver.Current)})
	state := filepath.Join(b.TempDir(), "state")
	fakedriver.Box(8, 8).MustWrite(b, state)
	b.Setenv(stateVariable, state)
	_, devices, err := library.Open()
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := library.Close(); err != nil {
			b.Error(err)
		}
	}()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		reading, err := library.Read(devices[i%len(devices)])
		if err != nil || len(reading.Processes) != 8 {
			b.Fatal(reading, err)
		}
	}
}

// BenchmarkOpen measures an Open of eight GPUs.
func BenchmarkOpen(b *testing.B) {
	library := New(Options{LibraryPath: fakedriver.Build(b, fakedriver.Current)})
	state := filepath.Join(b.TempDir(), "state")
	fakedriver.Box(8, 8).MustWrite(b, state)
	b.Setenv(stateVariable, state)
	for b.Loop() {
		if _, devices, err := library.Open(); err != nil || len(devices) != 8 {
			b.Fatal(devices, err)
		}
	}
	if err := library.Close(); err != nil {
		b.Fatal(err)
	}
}
