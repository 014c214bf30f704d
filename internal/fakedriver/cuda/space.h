/*
 * Stretches of addresses, cut into blocks: best fit, splitting, coalescing.
 *
 *   space ── chunks ── blocks, side by side, free or taken
 *     └── the free blocks of all chunks by (size, address)
 *
 * The process's virtual addresses are a space with one chunk of 64 TiB. A memory
 * pool is a space with a chunk for each piece that it has of its GPU. Nothing is
 * ever read or written there: the addresses are only numbers.
 */
#ifndef VRAMSCOPE_FAKE_CUDA_SPACE_H
#define VRAMSCOPE_FAKE_CUDA_SPACE_H

#include "tree.h"

struct block {
	struct node node; /* while free: by size, then address */
	number address, size;
	struct block *left, *right; /* neighbours in the chunk */
	int taken;
};

struct space {
	struct node *free;
	number granularity; /* sizes are rounded up to it, and blocks begin at multiples of it; a power of two */
};

/* A new chunk, as one free block; NULL: out of host memory. */
struct block *space_add(struct space *space, number address, number size);
/* Returns a block of at least this size, NULL if none fits. An alignment above the granularity
 * is a multiple of it. */
struct block *space_take(struct space *space, number size, number alignment);
/* The same, at an address of the caller's choice. */
struct block *space_take_at(struct space *space, number address, number size);
/* Frees a block and returns the free block that it became part of. */
struct block *space_give(struct space *space, struct block *block);
/* Removes a chunk that consists of this one free block. */
void space_remove(struct space *space, struct block *whole);

static inline number round_up(number size, number step)
{
	return (size + step - 1) / step * step;
}

#endif
