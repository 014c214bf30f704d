#include "space.h"

#include <stdlib.h>

static void put_free(struct space *space, struct block *block)
{
	block->taken = 0;
	block->node.key = block->size;
	block->node.tie = block->address;
	tree_insert(&space->free, &block->node);
}

static struct block *take_free(struct space *space, struct block *block)
{
	tree_remove(&space->free, &block->node);
	block->taken = 1;
	return block;
}

struct block *space_add(struct space *space, number address, number size)
{
	struct block *block = calloc(1, sizeof *block);
	if (!block)
		return NULL;
	block->address = address;
	block->size = size;
	put_free(space, block);
	return block;
}

/* Splits a taken block at size and frees the rest. 0: out of host memory. */
static int cut(struct space *space, struct block *block, number size)
{
	if (block->size == size)
		return 1;
	struct block *rest = calloc(1, sizeof *rest);
	if (!rest)
		return 0;
	rest->address = block->address + size;
	rest->size = block->size - size;
	rest->left = block;
	rest->right = block->right;
	if (rest->right)
		rest->right->left = rest;
	block->right = rest;
	block->size = size;
	put_free(space, rest);
	return 1;
}

/* Takes a part of a free block, starting at address. */
static struct block *carve(struct space *space, struct block *block, number address, number size)
{
	take_free(space, block);
	if (address > block->address) {
		if (!cut(space, block, address - block->address)) {
			put_free(space, block);
			return NULL;
		}
		put_free(space, block);
		block = take_free(space, block->right);
	}
	if (!cut(space, block, size)) {
		space_give(space, block);
		return NULL;
	}
	return block;
}

struct block *space_take(struct space *space, number size, number alignment)
{
	size = round_up(size, space->granularity);
	if (alignment < space->granularity)
		alignment = space->granularity;
	/* A block of this size or more may be too small once its start is aligned. */
	for (struct node *node = tree_from(space->free, size, 0); node; node = tree_from(space->free, node->key, node->tie + 1)) {
		struct block *block = (struct block *)node;
		number address = round_up(block->address, alignment);
		if (address + size <= block->address + block->size)
			return carve(space, block, address, size);
	}
	return NULL;
}

struct block *space_take_at(struct space *space, number address, number size)
{
	size = round_up(size, space->granularity);
	if (address % space->granularity)
		return NULL;
	for (struct node *node = tree_from(space->free, size, 0); node; node = tree_from(space->free, node->key, node->tie + 1)) {
		struct block *block = (struct block *)node;
		if (block->address <= address && address + size <= block->address + block->size)
			return carve(space, block, address, size);
	}
	return NULL;
}

/* Merges two neighbouring blocks into the left one. Neither is in the tree. */
static struct block *join(struct block *left, struct block *right)
{
	left->size += right->size;
	left->right = right->right;
	if (left->right)
		left->right->left = left;
	free(right);
	return left;
}

struct block *space_give(struct space *space, struct block *block)
{
	if (block->right && !block->right->taken)
		block = join(block, take_free(space, block->right));
	if (block->left && !block->left->taken)
		block = join(take_free(space, block->left), block);
	put_free(space, block);
	return block;
}

void space_remove(struct space *space, struct block *whole)
{
	free(take_free(space, whole));
}
