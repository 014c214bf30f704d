// Package allocator imitates the two ways in which deep-learning runtimes keep
// GPU memory: PyTorch's caching allocator (Caching) and the best fit with
// coalescing of JAX and TensorFlow (BestFit), without any memory: only the stats
// are real.
//
//	program ── Allocate, Free ──→ allocator ── Reserve, Release ──→ Device
//	                                  └── Stats: reserved = allocated + cached + fragmented
//
// Memory comes from the device in segments. A segment is a chain of blocks in the
// order of their addresses; a block is live (allocated), pending or free. Two free
// blocks are never adjacent, as freeing merges them. Start reading at Caching.
package allocator
