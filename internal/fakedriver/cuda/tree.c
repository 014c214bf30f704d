#include "tree.h"

static number priority(const struct node *node)
{
	/* The finaliser of splitmix64 (Steele, Lea, Flood 2014). */
	number x = node->key ^ node->tie * 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static int before(const struct node *a, number key, number tie)
{
	return a->key < key || (a->key == key && a->tie < tie);
}

/* Splits a tree into the nodes before (key, tie) and the rest. */
static void split(struct node *tree, number key, number tie, struct node **low, struct node **high)
{
	while (tree) {
		if (before(tree, key, tie)) {
			*low = tree;
			low = &tree->right;
			tree = tree->right;
		} else {
			*high = tree;
			high = &tree->left;
			tree = tree->left;
		}
	}
	*low = *high = NULL;
}

void tree_insert(struct node **tree, struct node *node)
{
	number own = priority(node);
	while (*tree && priority(*tree) >= own)
		tree = before(*tree, node->key, node->tie) ? &(*tree)->right : &(*tree)->left;
	split(*tree, node->key, node->tie, &node->left, &node->right);
	*tree = node;
}

void tree_remove(struct node **tree, struct node *node)
{
	while (*tree != node)
		tree = before(*tree, node->key, node->tie) ? &(*tree)->right : &(*tree)->left;
	struct node *low = node->left, *high = node->right;
	while (low && high) {
		if (priority(low) >= priority(high)) {
			*tree = low;
			tree = &low->right;
			low = low->right;
		} else {
			*tree = high;
			tree = &high->left;
			high = high->left;
		}
	}
	*tree = low ? low : high;
}

struct node *tree_from(struct node *tree, number key, number tie)
{
	struct node *found = NULL;
	while (tree)
		if (before(tree, key, tie)) {
			tree = tree->right;
		} else {
			found = tree;
			tree = tree->left;
		}
	return found;
}

struct node *tree_upto(struct node *tree, number key, number tie)
{
	struct node *found = NULL;
	while (tree)
		if (tree->key < key || (tree->key == key && tree->tie <= tie)) {
			found = tree;
			tree = tree->right;
		} else {
			tree = tree->left;
		}
	return found;
}
