// Package reallibraries tests vramscope with real releases of PyTorch, JAX,
// TensorFlow and Numba on the fake driver: the allocators are real, and the kernels
// do nothing. scripts/real-libraries installs the libraries and runs the tests,
// which are skipped without them.
//
//	…_job.py ────── real library ── libcudart, stand-ins ── libcuda ──┬── its own figures ──────┐
//	run, attach, run --preload                                        └── vramscope once, flush,┴→ equal, to the byte
//	                                                                      snapshot                       └→ docs/measured/real-libraries.md
//
// Start at torchConfigurations in torch_test.go, and for the libraries whose memory no
// flush frees at frameworks in framework_test.go. compare_test.go has the identities.
// program_test.go starts programs and asks them. why_test.go has the stories for
// vramscope why.
package reallibraries
