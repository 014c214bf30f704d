// Package allocator imitates how PyTorch's caching allocator keeps GPU memory, without
// any memory: only the stats are real.
//
//	program ── Allocate, Free ──→ allocator ── Reserve, Release ──→ Device
//	                                  └── Stats: reserved = allocated + cached + fragmented
//
// Memory comes from the device in segments. A segment is a chain of blocks in the order of their
// addresses. A block is live (allocated), pending or free. Two free blocks are never adjacent,
// because freeing merges them. Start reading at Caching.
package allocator
