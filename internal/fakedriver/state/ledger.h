/*
 * How much of which GPU each process holds through the fake CUDA driver: a file
 * beside the state file, mapped by every process that allocates or reads.
 *
 *   libcuda ── ledger_take, ledger_give ──→ $VRAMSCOPE_FAKE_STATE.ledger ←── ledger_held, ledger_list ── libnvidia-ml
 *
 * The ledger's figures are added to those of the state file: a GPU's free memory there is what
 * processes of the ledger can take.
 *
 * Every process has a slot, which only it writes, and the sum over the slots is what counts. A
 * process that is killed or stopped cannot block others: there is no lock around the ledger. A
 * process counts as alive while it has its POSIX lock on its slot's byte of the file: the kernel
 * drops that lock however the process ends, or when it becomes another program; a forked child
 * does not have it; and F_GETLK returns its holder's pid in the calling process's pid namespace.
 * Slots without a lock count for nothing.
 *
 * POSIX locks go when any descriptor of the file is closed (fcntl(2)), so
 * the descriptor is never closed, and a program must not open the file itself.
 */
#ifndef VRAMSCOPE_FAKE_LEDGER_H
#define VRAMSCOPE_FAKE_LEDGER_H

#include "state.h"

struct ledger;

struct holder {
	number pid;  /* in this process's pid namespace; as the holder sees itself if it is not in it */
	number used; /* bytes */
};

/* The ledger beside the state file that the environment names, NULL if there is none. With
 * create it is made, and a failure is printed on stderr.
 */
struct ledger *ledger_open(int create);

/* What a GPU, or a MIG instance, is called in a ledger; never 0. */
number ledger_key(const char *uuid);

/* Takes bytes for this process if no more than capacity are then taken. 0: there is no room. Two
 * threads must not call it at once. */
int ledger_take(struct ledger *ledger, number key, number bytes, number capacity);
void ledger_give(struct ledger *ledger, number key, number bytes);

/* Bytes that living processes hold. */
number ledger_held(const struct ledger *ledger, number key);

/* Every living process that holds something, in a list to be freed; their number. */
size_t ledger_list(const struct ledger *ledger, number key, struct holder **holders);

#endif
