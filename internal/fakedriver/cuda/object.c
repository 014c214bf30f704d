/* Handles. One that was made up, or is of something that is no more, is refused instead of followed. */
#include "driver.h"

#include <stdint.h>

void object_add(struct object *object, enum kind kind)
{
	object->node.key = (number)(uintptr_t)object;
	object->node.tie = kind;
	tree_insert(&own.objects, &object->node);
}

void object_remove(struct object *object)
{
	tree_remove(&own.objects, &object->node);
}

int object_is(const void *handle, enum kind kind)
{
	const struct node *node = tree_from(own.objects, (number)(uintptr_t)handle, kind);
	return node && node->key == (number)(uintptr_t)handle && node->tie == kind;
}

void *object_next(enum kind kind, const void *after)
{
	struct node *node = tree_from(own.objects, (number)(uintptr_t)after, kind + 1);
	if (!after)
		node = tree_from(own.objects, 0, 0);
	while (node && node->tie != kind)
		node = tree_from(own.objects, node->key, node->tie + 1);
	return node;
}
