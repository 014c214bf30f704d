/* Calls by a forked child, and by another probe of this process that takes over. */
#ifndef VRAMSCOPE_PRELOAD_FORK_H
#define VRAMSCOPE_PRELOAD_FORK_H

#include "serve.h"

void reset_after_fork(void);
int serve_yield(void);
void serve_report(struct text *text);

#endif
