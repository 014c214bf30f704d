package socket

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSocketComesBackAfterItsDirectoryVanished(t *testing.T) {
	directory, s := serve(t, newBox(), mustShare(t, "none"))
	if err := os.Remove(filepath.Join(directory, Name)); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	gone := !s.bound.there()
	err := s.rebind()
	s.mu.Unlock()
	if !gone || err != nil {
		t.Fatalf("%t, %v", gone, err)
	}
	client, err := Dial(t.Context(), []Place{{directory, uint32(os.Geteuid())}})
	if err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
}
