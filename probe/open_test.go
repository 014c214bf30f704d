//go:build linux

package probe

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"vramscope/internal/process"
)

func TestOpenProcessChecksIdentity(t *testing.T) {
	runtime := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	c := spawn(t, "serve", filepath.Join(runtime, "vramscope"))
	table := process.NewTable("/proc")
	finder := NewFinder(table)
	id, err := table.Identify(c.pid())
	if err != nil {
		t.Fatal(err)
	}
	client, err := finder.OpenProcess(id)
	if err != nil || client.Process().PID != c.pid() || client.Foreign() {
		t.Fatalf("%+v, %v", client, err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	refusal := new(process.Refusal)
	other := id
	other.StartTime++
	if _, err := finder.OpenProcess(other); !errors.As(err, &refusal) {
		t.Errorf("another process under that pid: %v", err)
	}
	if _, err := finder.OpenProcess(process.Identity{PID: os.Getpid(), StartTime: id.StartTime, Namespace: id.Namespace + 1}); !errors.As(err, &refusal) {
		t.Errorf("in another pid namespace: %v", err)
	}
}
