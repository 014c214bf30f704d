/* The scenarios of the test program, and what they share. */
#ifndef VRAMSCOPE_PRELOAD_SCENARIO_H
#define VRAMSCOPE_PRELOAD_SCENARIO_H

#include "program.h"

/* scenario.c */
extern CUcontext contexts[4]; /* primary contexts by device */
void use_device(int device);
void begin(void);
CUdeviceptr allocate(size_t size);
CUmemAllocationProp shared_allocation(int device);

/* memory_scenarios.c */
void linear(void);
void pooled(void);
void idle_pools(void);
void virtual_memory(void);
void teardown(void);
void capturing(int leave);

/* process_scenarios.c */
void threads(void);
void fork_before(void);
void fork_after(void);
void unseen(void);
void fork_storm(void);
void become_another(void);
void share(void);
void import(void);
void close_all(void);
void leave_main(void);

#endif
