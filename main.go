// Command vramscope is a microscope for GPU memory that runs in a terminal.
package main

func main() {}
