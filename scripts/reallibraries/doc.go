// Package reallibraries tests vramscope with real releases of PyTorch on the fake
// driver: their allocators are real, their kernels do nothing. scripts/real-libraries
// installs them and runs the tests, which are skipped without.
//
//	torch_job.py ── real PyTorch ── libcudart, stand-ins ── libcuda ──┬── its own figures ──────┐
//	     under vramscope run                                          └── vramscope once, flush ─┴→ equal, to the byte
package reallibraries
