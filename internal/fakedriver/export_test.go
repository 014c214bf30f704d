package fakedriver

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
)

// BuildClient compiles testdata/client.c.
func BuildClient(tb TB) string {
	tb.Helper()
	header, err := headerDirectory()
	if err != nil {
		tb.Fatalf("%v", err)
	}
	source, err := filepath.Abs("testdata/client.c")
	if err != nil {
		tb.Fatalf("%v", err)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	// compile knows its embedded sources; this one takes part by a definition.
	flags := []string{"-isystem", header, fmt.Sprintf("-DSOURCE_%x", sha256.Sum256(text)), source, "-ldl"}
	program, err := compile(product{name: "client", flags: flags})
	if err != nil {
		tb.Fatalf("%v", err)
	}
	return program
}
