//go:build linux

// Command loop is the floor of the benchmark for a program in Go: it reads every GPU
// each second through package nvml, prints how much memory is used, and does nothing
// else.
package main

import (
	"fmt"
	"os"
	"time"

	"vramscope/nvml"
)

func main() {
	library := nvml.New(nvml.Options{})
	_, devices, err := library.Open()
	if err != nil {
		fmt.Fprintln(os.Stderr, "loop:", err)
		os.Exit(1)
	}
	for range time.Tick(time.Second) {
		for _, device := range devices {
			reading, err := library.Read(device)
			fmt.Println(device.Name, reading.Memory.Used, len(reading.Processes), err)
		}
	}
}
