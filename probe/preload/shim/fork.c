/*
 * A forked child has none of its parent's GPU memory (CUDA does not work in
 * it), none of its threads, and must not speak in its name. If it uses a GPU
 * itself, everything begins anew. A program that becomes another (exec) needs
 * nothing: all descriptors are closed then.
 */
#include "fork.h"

void forget_everything(void)
{
	/* In a signal's handler, which has interrupted a change of the books: that goes on afterwards. */
	if (own_locks)
		return;
	serve_forget();
	driver_reopen();
	ledger_forget(&books.ledger);
	memset(books.out_of_memory, 0, sizeof books.out_of_memory);
	contexts_forget();
	vmm_forget();
	pools_forget();
	captures_forget();
	survey_forget();
}
