/*
 * How much of which GPU each process holds through the fake CUDA driver: a file
 * beside the state file, mapped by every process that allocates or reads.
 *
 *   libcuda ── ledger_take, ledger_give ──→ $VRAMSCOPE_FAKE_STATE.ledger ←── ledger_held, ledger_list ── libnvidia-ml
 *
 * The ledger's figures are added to those of the state file. A GPU's free memory in the state
 * file is what the ledger's processes can take.
 *
 * Every process that takes memory has a slot, which only that process writes. The bytes held are the sum over the
 * slots. There is no lock around the ledger, so a process that is killed or stopped cannot block
 * others. A process counts as alive while it has its POSIX lock on its slot's byte of the file.
 * The kernel drops that lock however the process ends, and when it becomes another program. A
 * forked child does not have the lock. F_GETLK returns the pid of the lock's holder in the pid
 * namespace of the process that asks. Slots without a lock are not counted.
 *
 * POSIX locks go when any descriptor of the file is closed (fcntl(2)), so
 * the descriptor is never closed, and a program must not open the file itself.
 */
#ifndef VRAMSCOPE_FAKE_LEDGER_H
#define VRAMSCOPE_FAKE_LEDGER_H

#include "state.h"

struct ledger;

struct holder {
	number pid;  /* in this process's pid namespace; if the holder has none there, in its own */
	number used; /* bytes */
};

/* The ledger beside the state file that the environment names, NULL if there is none. With
 * create the ledger is made, and a failure is printed on stderr.
 */
struct ledger *ledger_open(int create);

/* The key of a GPU or of a MIG instance in a ledger; never 0. */
number ledger_key(const char *uuid);

/* Takes bytes for this process if at most capacity bytes are then taken in all. Returns 0 if there
 * is no room. Two threads must not call ledger_take at once. */
int ledger_take(struct ledger *ledger, number key, number bytes, number capacity);
void ledger_give(struct ledger *ledger, number key, number bytes);

/* Bytes that living processes hold. */
number ledger_held(const struct ledger *ledger, number key);

/* Lists every living process that holds memory, and returns their number. The caller frees the list. */
size_t ledger_list(const struct ledger *ledger, number key, struct holder **holders);

#endif
