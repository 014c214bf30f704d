// Package trial defines the commands for trying vramscope: demo, demo rescue, demo lease, and probe, a
// small CUDA process with a pool of memory. Start with demo.go and probe.go.
package trial
