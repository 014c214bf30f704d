// Package reallibraries tests vramscope with real releases of PyTorch, JAX,
// TensorFlow and Numba on the fake driver: their allocators are real, their kernels do nothing. scripts/real-libraries
// installs them and runs the tests, which are skipped without.
//
//	…_job.py ────── real library ── libcudart, stand-ins ── libcuda ──┬── its own figures ──────┐
//	run, attach, run --preload                                        └── vramscope once, flush,┴→ equal, to the byte
//	                                                                      snapshot                       └→ docs/measured/real-libraries.md
//
// Start at torchConfigurations in torch_test.go, and at frameworks in framework_test.go
// for the libraries whose memory no flush frees. compare_test.go has the
// identities, program_test.go how a program is started and asked, why_test.go stories for vramscope why.
package reallibraries
