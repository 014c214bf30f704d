/* The serving thread's state as a whole: what a forked child forgets, and another probe takes over. */
#ifndef VRAMSCOPE_PRELOAD_FORK_H
#define VRAMSCOPE_PRELOAD_FORK_H

#include "serve.h"

void forget_everything(void);
int serve_yield(void);
void serve_report(struct text *text);

#endif
