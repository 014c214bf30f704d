// Command generate writes the Python probe that ships, and the hashes of what ships, to the
// directory that it is given.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"vramscope/probe/agent/source"
)

func main() {
	module, err := source.Join()
	if err == nil {
		err = os.WriteFile(filepath.Join(os.Args[1], "vramscope_probe.py"), module, 0o644)
	}
	var sums []byte
	if err == nil {
		sums, err = source.Sums(os.Args[1])
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(os.Args[1], "SHA256SUMS"), sums, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}
