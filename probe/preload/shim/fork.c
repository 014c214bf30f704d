/*
 * A forked child has neither its parent's GPU memory (CUDA does not survive a fork)
 * nor its threads, and must not answer for the parent. If the child uses a GPU itself,
 * serving starts again. An exec closes this library's descriptors and needs nothing else.
 */
#include "fork.h"
#include "rescue.h"

void reset_after_fork(void)
{
	/* A signal handler has forked in the middle of a locked section, and the child continues that section. */
	if (own_locks)
		return;
	serve_reset();
	driver_reopen();
	ledger_reset(&process.ledger);
	memset(process.out_of_memory, 0, sizeof process.out_of_memory);
	contexts_reset();
	vmm_reset();
	pools_reset();
	captures_reset();
	survey_reset();
	failures_reset();
	rescue_reset();
}
