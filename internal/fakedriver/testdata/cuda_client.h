#ifndef CUDA_CLIENT_H
#define CUDA_CLIENT_H

#include "api.h"

#include <stdint.h>
#include <stdio.h>

/* The primary context of a device becomes current. */
CUresult use(int device);
/* Whether the command was one of cuda_device.c's. */
int device_command(const char *word, int a, int b);
/* Whether the command was one of cuda_module.c's. */
int module_command(const char *word, int a);
/* Whether the command was one of cuda_work.c's. */
int work_command(const char *word, int a, unsigned long long b, int c);

#endif
