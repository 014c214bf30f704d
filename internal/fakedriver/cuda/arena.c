#include "driver.h"

#include <stdlib.h>

/* A chunk of the arena: memory of the GPU at addresses of the process. */
struct piece {
	struct node node; /* by address */
	number size;
	struct block *addresses;
};

void arena_init(struct arena *arena, struct device *device, number chunk, number granularity)
{
	*arena = (struct arena){ .device = device, .chunk = chunk, .space = { .granularity = granularity } };
}

/* Adds a chunk of at least this size, smaller than usual if the GPU or the arena's limit has no room. */
static int grow(const struct call *call, struct arena *arena, number size)
{
	number wanted = round_up(size, arena->chunk);
	if (arena->largest && arena->reserved + wanted > arena->largest)
		wanted = round_up(size, PAGE);
	if (arena->largest && arena->reserved + wanted > arena->largest)
		return 0;
	if (!device_take(call, arena->device, wanted)) {
		wanted = round_up(size, PAGE);
		if (!device_take(call, arena->device, wanted))
			return 0;
	}
	struct piece *piece = calloc(1, sizeof *piece);
	if (piece)
		piece->addresses = space_take(&own.addresses, wanted, PAGE);
	if (!piece || !piece->addresses || !space_add(&arena->space, piece->addresses->address, wanted)) {
		if (piece && piece->addresses)
			space_give(&own.addresses, piece->addresses);
		free(piece);
		device_give(arena->device, wanted);
		return 0;
	}
	piece->size = wanted;
	piece->node.key = piece->addresses->address;
	piece->node.tie = 0;
	tree_insert(&arena->pieces, &piece->node);
	arena->reserved += wanted;
	return 1;
}

struct block *arena_take(const struct call *call, struct arena *arena, number size)
{
	struct block *block = space_take(&arena->space, size, 0);
	if (!block && grow(call, arena, size))
		block = space_take(&arena->space, size, 0);
	return block;
}

void arena_give(struct arena *arena, struct block *block)
{
	space_give(&arena->space, block);
}

/* The piece's block if it is one free block; NULL while a part of the piece is taken. */
static struct block *wholly_free(const struct arena *arena, const struct piece *piece)
{
	struct node *node = tree_from(arena->space.free, piece->size, piece->node.key);
	return node && node->key == piece->size && node->tie == piece->node.key ? (struct block *)node : NULL;
}

void arena_trim(struct arena *arena, number keep)
{
	struct node *next;
	for (struct node *node = tree_from(arena->pieces, 0, 0); node && arena->reserved > keep; node = next) {
		struct piece *piece = (struct piece *)node;
		next = tree_from(arena->pieces, node->key + 1, 0);
		struct block *whole = wholly_free(arena, piece);
		if (!whole || arena->reserved - piece->size < keep)
			continue;
		space_remove(&arena->space, whole);
		space_give(&own.addresses, piece->addresses);
		arena->reserved -= piece->size;
		device_give(arena->device, piece->size);
		tree_remove(&arena->pieces, node);
		free(piece);
	}
}
