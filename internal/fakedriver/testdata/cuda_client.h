#ifndef CUDA_CLIENT_H
#define CUDA_CLIENT_H

#include "api.h"

#include <stdint.h>
#include <stdio.h>

/* Makes the primary context of a device current. */
CUresult use(int device);
/* Runs a command of cuda_device.c. Returns 0 for any other command. */
int device_command(const char *word, int a, int b);
/* Runs a command of cuda_module.c. Returns 0 for any other command. */
int module_command(const char *word, int a);
/* Runs a command of cuda_work.c. Returns 0 for any other command. */
int work_command(const char *word, int a, unsigned long long b, int c);

#endif
