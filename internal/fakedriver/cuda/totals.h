/*
 * This library's own totals for a device, for tests that compare a probe's stats
 * with them. NVIDIA's library has no such call.
 */
#ifndef VRAMSCOPE_FAKE_CUDA_TOTALS_H
#define VRAMSCOPE_FAKE_CUDA_TOTALS_H

struct fake_totals {
	unsigned long long linear, linear_count;     /* cuMemAlloc, in requested bytes */
	unsigned long long physical, physical_count; /* cuMemCreate on the device, not imported */
	unsigned long long managed, managed_count, imported_count;
	unsigned long long pools_used, pools_reserved, graphs_reserved;
};

/* Returns 0 if there is no such device. */
int fake_totals(int device, struct fake_totals *totals);

/* How many calls of the process have gone through call.c. */
unsigned long long fake_calls(void);

#endif
