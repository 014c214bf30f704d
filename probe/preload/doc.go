// Package preload is the probe of native CUDA programs: a small C library that is
// preloaded into a program, and its installation.
//
//	shim/*.c ── scripts/build-preload ── libvramscope-*.so, embedded
//	                                          ↓ Install
//	vramscope run ── LD_PRELOAD ── program ── libvramscope.so ── libcuda
//	                                          ↓ socket, vramscope/1
//	                                        monitor
//
// Start reading at shim/shim.h; docs/preload.md says what the library sees and costs. The
// repository holds the library as source and built: SHA256SUMS, checked by a test, ties them
// together, and CI compares a fresh build byte for byte. After a change in shim run "make preload".
package preload
