// Package standin makes empty stand-ins for NVIDIA's libraries, so that a real
// PyTorch, JAX or TensorFlow starts on the fake driver without them: their
// functions succeed and do nothing.
//
//	a wheel's own libraries ──┬── DT_NEEDED, undefined symbols ──┬──→ C ── cc ──→ libcublas.so.12, libcudnn.so.9, …
//	                          └── names that dlsym looks up ─────┘
//
// A ptxas that assembles nothing is made, too, for XLA. Start at Make. libcuda, libnvidia-ml and libcudart are not made here: the first
// two are the fake driver's, the third is internal/fakedriver/cudart.
package standin
