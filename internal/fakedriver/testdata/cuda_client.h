#ifndef CUDA_CLIENT_H
#define CUDA_CLIENT_H

#include "api.h"

#include <stdint.h>
#include <stdio.h>

/* Whether the command was one of cuda_work.c's. */
int work_command(const char *word, int a, unsigned long long b, int c);

#endif
