// Package standin makes empty stand-ins for NVIDIA's libraries, so that a real
// PyTorch, JAX or TensorFlow starts on the fake driver without NVIDIA's.
// Most functions of a stand-in return success and do nothing; functions/functions.c has
// those that must answer, such as versions and handles.
//
//	a wheel's own libraries ──┬── DT_NEEDED, undefined symbols ──┬──→ C ── cc ──→ libcublas.so.12, libcudnn.so.9, …
//	                          └── names that dlsym looks up ─────┘
//
// For XLA the package also makes a ptxas that assembles nothing. libcuda and libnvidia-ml are the
// fake driver's, and libcudart is internal/fakedriver/cudart. Start at Make.
package standin
