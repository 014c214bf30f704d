/* Handles. An invalid handle, or that of a destroyed object, is refused. Objects are ordered by
 * kind, then by address.
 */
#include "driver.h"

#include <stdint.h>

void object_add(struct object *object, enum kind kind)
{
	object->node.key = kind;
	object->node.tie = (number)(uintptr_t)object;
	tree_insert(&own.objects, &object->node);
}

void object_remove(struct object *object)
{
	tree_remove(&own.objects, &object->node);
}

int object_is(const void *handle, enum kind kind)
{
	const struct node *node = tree_from(own.objects, kind, (number)(uintptr_t)handle);
	return node && node->key == kind && node->tie == (number)(uintptr_t)handle;
}

void *object_next(enum kind kind, const void *after)
{
	struct node *node = tree_from(own.objects, kind, (number)(uintptr_t)after + 1);
	return node && node->key == kind ? node : NULL;
}
