/* What changes the serving thread's state as a whole: a fork, and another probe's takeover. */
#ifndef VRAMSCOPE_PRELOAD_FORK_H
#define VRAMSCOPE_PRELOAD_FORK_H

#include "serve.h"

void reset_after_fork(void);
int serve_yield(void);
void serve_report(struct text *text);

#endif
