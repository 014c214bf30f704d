/*
 * What this library itself has in its books for a device, for tests that hold
 * somebody else's books against them. NVIDIA's has no such call.
 */
#ifndef VRAMSCOPE_FAKE_CUDA_BOOKS_H
#define VRAMSCOPE_FAKE_CUDA_BOOKS_H

struct fake_books {
	unsigned long long linear, linear_count;     /* cuMemAlloc, in bytes as they were asked for */
	unsigned long long physical, physical_count; /* cuMemCreate on the device, not imported */
	unsigned long long managed, managed_count, imported_count;
	unsigned long long pools_used, pools_reserved, graphs_reserved;
};

/* 0: there is no such device. */
int fake_books(int device, struct fake_books *books);

#endif
