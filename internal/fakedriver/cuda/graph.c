/*
 * Graphs: only the memory that was allocated while a stream was captured is kept, and launching
 * a graph runs nothing.
 *
 *   capture ──→ graph ──→ executable graphs ──→ launches
 *
 * Memory that the graph itself does not free belongs to the program as soon as the graph has
 * been launched once: "Graph destruction does not automatically free any live graph-allocated
 * memory" (CUDA programming guide, Graph memory nodes). If the graph was never launched, the
 * memory is freed when the graph and all its executable graphs are destroyed.
 */
#include "driver.h"

#include <stdlib.h>

struct CUgraph_st {
	struct object object;
	size_t references; /* its own handle, and executable graphs */
	int launched;
};

struct CUgraphExec_st {
	struct object object;
	CUgraph graph;
};

CUgraph graph_new(void)
{
	CUgraph graph = calloc(1, sizeof *graph);
	if (!graph)
		return NULL;
	graph->references = 1;
	object_add(&graph->object, GRAPH);
	return graph;
}

static void let_go(CUgraph graph)
{
	if (--graph->references > 0)
		return;
	struct node *next;
	for (struct node *node = tree_from(own.allocations, 0, 0); node; node = next) {
		next = tree_from(own.allocations, node->key + 1, 0);
		struct allocation *allocation = (struct allocation *)node;
		if (allocation->graph != graph)
			continue;
		allocation->graph = NULL;
		if (!graph->launched)
			pool_free(allocation, NULL);
	}
	free(graph);
}

void graph_free(CUgraph graph)
{
	if (!graph)
		return;
	object_remove(&graph->object);
	let_go(graph);
}

CUresult cuGraphDestroy(CUgraph graph)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuGraphDestroy", INITIALISED);
	if (answer == CUDA_SUCCESS && !object_is(graph, GRAPH))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS)
		graph_free(graph);
	return call_end(&call, answer);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	struct call call;
	(void)flags; /* affects only launches */
	CUresult answer = call_begin(&call, "cuGraphInstantiateWithFlags", CURRENT);
	if (answer == CUDA_SUCCESS && (!exec || !object_is(graph, GRAPH)))
		answer = CUDA_ERROR_INVALID_VALUE;
	CUgraphExec made = answer == CUDA_SUCCESS ? calloc(1, sizeof *made) : NULL;
	if (answer == CUDA_SUCCESS && !made)
		answer = CUDA_ERROR_OUT_OF_MEMORY;
	if (answer == CUDA_SUCCESS) {
		made->graph = graph;
		graph->references++;
		object_add(&made->object, EXECUTABLE_GRAPH);
		*exec = made;
	}
	return call_end(&call, answer);
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuGraphExecDestroy", INITIALISED);
	if (answer == CUDA_SUCCESS && !object_is(exec, EXECUTABLE_GRAPH))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		object_remove(&exec->object);
		let_go(exec->graph);
		free(exec);
	}
	return call_end(&call, answer);
}

static CUresult launch(CUgraphExec exec, CUstream handle, enum default_stream twin)
{
	struct call call;
	struct CUstream_st *stream;
	CUresult answer = call_begin(&call, "cuGraphLaunch", CURRENT | FAST);
	if (answer == CUDA_SUCCESS && !object_is(exec, EXECUTABLE_GRAPH))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS)
		answer = stream_of(&call, handle, twin, &stream);
	if (answer == CUDA_SUCCESS)
		exec->graph->launched = 1;
	return call_end(&call, answer);
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	return launch(exec, stream, LEGACY);
}

CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream)
{
	return launch(exec, stream, PER_THREAD);
}
