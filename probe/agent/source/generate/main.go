// Command generate writes the Python probe that ships to the path that it is given.
package main

import (
	"fmt"
	"os"

	"vramscope/probe/agent/source"
)

func main() {
	module, err := source.Join()
	if err == nil {
		err = os.WriteFile(os.Args[1], module, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}
