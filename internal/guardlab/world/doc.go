// Package world is one simulated GPU that several jobs share, for the guard's evaluation. A job is
// a program in Go that computes for a time, allocates and frees. It has PyTorch's or JAX's
// allocator (sampler/simulator/allocator). An allocation that fails ends the process, unless the
// program handles the error:
//
//	Program ─ Allocate ─→ allocator ─ Reserve ─→ the GPU: is there room?
//	   ↑                      ↑ 1. no: frees its own cache, tries again
//	   │                      └ 2. no: asks World.Rescue, tries again
//	   └─ 3. no: an out-of-memory event. If the process ends, it starts again from its
//	      last checkpoint after Spec.Restart
//
// Time is simulated, from event to event, and the same seed always gives the same run. The cost of
// a flush is a parameter (Cost): the process that flushes stands still, and reserving memory again
// takes time.
//
// The World is the driver, the probes and /proc for a real sampler (sources.go).
// Computing time is not shared: each job runs as if the GPU's cores were its own.
//
// Start reading at World.Run and Job.run.
package world
