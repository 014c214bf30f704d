package source

import (
	"bytes"
	"os"
	"testing"
)

func TestShippedProbeMatchesSource(t *testing.T) {
	want, err := Join()
	if err != nil {
		t.Fatal(err)
	}
	shipped, err := os.ReadFile("../vramscope_probe.py")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(shipped, want) {
		t.Error("vramscope_probe.py does not match probe/agent/source: run make agent")
	}
	sums, err := Sums("..")
	if err != nil {
		t.Fatal(err)
	}
	if recorded, err := os.ReadFile("../SHA256SUMS"); err != nil || !bytes.Equal(recorded, sums) {
		t.Errorf("SHA256SUMS does not match the files: run make agent (%v)", err)
	}
}
