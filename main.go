// Command vramscope is a microscope for GPU memory that runs in a terminal.
package main

import (
	"os"

	"vramscope/cli"
)

func main() { os.Exit(cli.Main()) }
