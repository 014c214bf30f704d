/* The ledger as it is in its file, and as a process has it open. */
#ifndef VRAMSCOPE_FAKE_LEDGER_FILE_H
#define VRAMSCOPE_FAKE_LEDGER_FILE_H

#include "ledger.h"

#include <stdatomic.h>

#define SLOTS 1024
#define ENTRIES 64 /* GPUs and MIG instances that one process can hold memory of */

/* Only the slot's process writes an entry. A claim is what the process wants to take and does not hold
 * yet. */
struct entry {
	_Atomic number key, used, claim;
};

struct slot {
	_Atomic number owner; /* identity of the slot's process; 0: the slot is free */
	_Atomic number pid;   /* in the owner's pid namespace */
	_Atomic number space; /* the owner's pid namespace, by its inode */
	number unused[5];
	struct entry entries[ENTRIES];
};

/* A file of zeros is an empty ledger. */
struct contents {
	_Atomic number version;
	_Atomic number slots; /* slots at or after this one were never used */
	number unused[6];
	struct slot slot[SLOTS];
};

struct ledger {
	char *path; /* of the state file */
	int file;
	number space;
	struct contents *contents;
	struct slot *own;
	struct ledger *next;
};

#endif
