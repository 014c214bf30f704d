/*
 * Ordered sets: treaps (Seidel and Aragon, "Randomized search trees", 1996)
 * of intrusive nodes. Priorities are a hash of the key, so that trees are
 * deterministic.
 */
#ifndef VRAMSCOPE_FAKE_CUDA_TREE_H
#define VRAMSCOPE_FAKE_CUDA_TREE_H

#include "../state/state.h"

struct node {
	struct node *left, *right;
	number key, tie; /* ordered by key, then by tie; the pair is unique in a tree */
};

void tree_insert(struct node **tree, struct node *node);
void tree_remove(struct node **tree, struct node *node);
/* tree_from returns the first node at or after (key, tie), tree_upto the last node at or before
 * (key, tie). Both return NULL if there is none. */
struct node *tree_from(struct node *tree, number key, number tie);
struct node *tree_upto(struct node *tree, number key, number tie);

#endif
