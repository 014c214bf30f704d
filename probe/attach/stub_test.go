//go:build linux

package attach

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

func TestImage(t *testing.T) {
	functions := map[string]function{
		"PyGILState_Ensure": {address: 1}, "PyGILState_Release": {address: 2}, "PyRun_SimpleString": {address: 3},
		"pthread_create": {address: 5}, "pthread_detach": {address: 6},
	}
	for architecture, code := range stubs {
		content, err := image(architecture, functions, 0x7000, "text")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(content, code) || !bytes.HasPrefix(content[starterAt:], starters[architecture]) || !bytes.HasSuffix(content, []byte("text\x00")) {
			t.Errorf("%s: %q", architecture, content)
		}
		for i, want := range []uint64{1, 2, 3, 0x7000 + textAt, 0x7000, 5, 6} {
			if got := binary.LittleEndian.Uint64(content[wordsAt+8*i:]); got != want {
				t.Errorf("%s: word %d is %#x, want %#x", architecture, i, got, want)
			}
		}
	}
	const full = pageSize - textAt - 1 // without the NUL
	for length, want := range map[int]int{1: pageSize, full: pageSize, full + 1: 2 * pageSize} {
		if got := imageSize(strings.Repeat("x", length)); got != want {
			t.Errorf("%d bytes of text need %d, want %d", length, got, want)
		}
	}
}
